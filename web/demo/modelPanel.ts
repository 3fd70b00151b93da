/** A person's own model on the page, from the dropped file to its outputs: options, compiling, inputs, runs. */

import type { CompileStep } from '../../protocol/compileChoices.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { ModelProgress, Room } from '../room.ts';
import type { RunReport, Session } from '../session.ts';
import type { OutputTensor } from '../tensors.ts';
import { type OpenModel, openModelFile } from '../worker/compileWorker.ts';
import { createElement } from './createElement.ts';
import type { Messages } from './messages.ts';
import { createModelForm, type ModelWishes } from './modelForm.ts';
import { createModelInput } from './modelInput.ts';
import { createModelOutput } from './modelOutput.ts';
import { formatBytes, formatTime, plural } from './sentences.ts';

export interface ModelPanelOptions {
  readonly messages: Messages;
  room(): Promise<Room>;
  /** The panel takes the workspace's place. */
  onOpen(): void;
  /** The room's session is the model's from now on; the one before is over, or will be. */
  onSession(session: Promise<Session>): void;
  /** The panel is gone; `replaced` where it has taken the room's session. */
  onClose(replaced: boolean): void;
}

export interface ModelPanel {
  /** Whether the file is this panel's: a model always, inputs where a model is loaded. */
  take(file: File): boolean;
  open(file: File): Promise<void>;
  close(): void;
}

export function createModelPanel(root: HTMLElement, options: ModelPanelOptions): ModelPanel {
  const { messages, room, onOpen, onSession, onClose } = options;
  let own: AbortController | null = null;
  let replaced = false;
  let takeInput: ((file: File) => boolean) | null = null;

  const show = (state: string, ...children: readonly (HTMLElement | null)[]) => {
    root.dataset['state'] = state;
    root.hidden = false;
    root.replaceChildren(...children.filter((child) => child !== null));
  };

  const close = () => {
    if (own === null) return;
    own.abort();
    own = null;
    takeInput = null;
    root.hidden = true;
    root.replaceChildren();
    root.dataset['state'] = 'closed';
    const had = replaced;
    replaced = false;
    onClose(had);
  };

  /** An error ends the panel, but not after the person has left it. */
  const fail = (attempt: AbortController, thrown: unknown) => {
    if (attempt.signal.aborted) return;
    close();
    messages.error(StarlingError.from(thrown, 'INTERNAL'));
  };

  const open = async (file: File) => {
    close();
    messages.clear();
    const attempt = new AbortController();
    own = attempt;
    onOpen();
    const waiting = createWaiting(close);
    show('reading', title(file.name, formatBytes(file.size)), waiting.element);
    waiting.say('Reading the file.');
    try {
      const model = await openModelFile(file, attempt.signal);
      const joined = await room();
      if (attempt.signal.aborted) return model.close();
      const form = createModelForm({
        signature: model.signature,
        devices: joined.devices.length,
        maxShards: limits.shards,
        onCompile: (wishes) =>
          void compile(attempt, file, model, wishes).catch((thrown: unknown) => {
            if (attempt.signal.aborted) return;
            // Other lengths may do: the person is asked again.
            if (isOfShapes(thrown) && !replaced) void open(file).then(() => messages.error(thrown));
            else fail(attempt, thrown);
          }),
        onCancel: close,
      });
      show('form', title(file.name, formatBytes(file.size)), signatureOf(model), form);
    } catch (thrown) {
      fail(attempt, thrown);
    }
  };

  const compile = async (attempt: AbortController, file: File, model: OpenModel, wishes: ModelWishes) => {
    const waiting = createWaiting(close);
    show('compiling', title(file.name, formatBytes(file.size)), waiting.element);
    const { numShards, ...rest } = wishes;
    const joined = await room();
    const loading = joined.loadModel(model, {
      ...rest,
      name: file.name.replace(/\.onnx$/i, ''),
      shards: numShards,
      signal: attempt.signal,
      onProgress(progress) {
        // From here on the session that the page had before is released.
        if (progress.phase === 'load' && !replaced && !attempt.signal.aborted) {
          replaced = true;
          onSession(loading);
          root.dataset['state'] = 'loading';
        }
        waiting.say(...inWords(progress));
      },
    });
    const session = await loading;
    if (attempt.signal.aborted) return;
    if (!replaced) onSession(loading);
    replaced = true;
    showRuns(attempt, file, session);
  };

  const showRuns = (attempt: AbortController, file: File, session: Session) => {
    const inputs = session.inputs.map((value, i) => createModelInput(value, i, messages.error));
    const run = createElement('button', { type: 'button', class: 'button', id: 'run-model' }, 'Run');
    const back = createElement('button', { type: 'button', class: 'quiet' }, 'Back to pictures');
    const line = createElement('p', { class: 'line', role: 'status' });
    const outputs = createElement('div', { class: 'outputs' });
    back.addEventListener('click', close);
    run.addEventListener('click', async () => {
      messages.clear();
      run.disabled = true;
      line.textContent = 'Running.';
      try {
        const feeds = Object.fromEntries(inputs.map((input) => [input.value.name, input.tensor()]));
        let report: RunReport | null = null;
        const { signal } = attempt;
        const onReport = (one: RunReport) => {
          report = one;
        };
        const given = await session.run(feeds, { signal, onReport });
        line.textContent = report === null ? 'Done.' : reportInWords(report);
        outputs.replaceChildren(...outputsOf(session, given));
        root.dataset['runs'] = String(1 + Number(root.dataset['runs'] ?? 0));
      } catch (thrown) {
        line.textContent = '';
        if (!attempt.signal.aborted) messages.error(StarlingError.from(thrown, 'RUN_FAILED'));
      } finally {
        run.disabled = false;
      }
    });
    takeInput = (dropped) => {
      const input = inputs.find((one) => one.wants(dropped)) ?? inputs[0];
      if (input === undefined) return false;
      input.take(dropped).catch(messages.error);
      return true;
    };
    root.dataset['runs'] = '0';
    const { numShards, weightBytes, macs } = session.plan;
    const size = `${plural(numShards, 'shard')}, ${formatBytes(weightBytes)} of weights, ${inMillions(macs)} MACs`;
    show(
      'ready',
      title(file.name, size),
      ...inputs.map(({ element }) => element),
      createElement('div', { class: 'actions' }, run, back),
      line,
      outputs,
    );
  };

  root.hidden = true;
  return {
    open,
    close,
    take(file) {
      if (file.name.toLowerCase().endsWith('.onnx')) {
        void open(file);
        return true;
      }
      return takeInput?.(file) ?? own !== null;
    },
  };
}

/** onnxruntime says only that a model does not run, whatever the reason. */
function isOfShapes(thrown: unknown): boolean {
  const codes: readonly string[] = ['SHAPE_OPEN', 'INPUT_INVALID', 'SESSION_FAILED', 'RUN_FAILED'];
  return thrown instanceof StarlingError && codes.includes(thrown.code);
}

function outputsOf(session: Session, given: Readonly<Record<string, OutputTensor>>): HTMLElement[] {
  return session.outputs.flatMap(({ name }) => {
    const tensor = given[name];
    return tensor === undefined ? [] : [createModelOutput(name, tensor)];
  });
}

function createWaiting(onCancel: () => void) {
  const bar = createElement('progress', { max: 1, 'aria-label': 'Progress' });
  const line = createElement('p', { class: 'line', role: 'status' });
  const cancel = createElement('button', { type: 'button', class: 'quiet', id: 'cancel-model' }, 'Cancel');
  cancel.addEventListener('click', onCancel);
  return {
    element: createElement('div', { class: 'progress' }, bar, line, cancel),
    say(sentence: string, part?: number) {
      line.textContent = sentence;
      if (part === undefined) bar.removeAttribute('value');
      else bar.value = part;
    },
  };
}

const steps: { readonly [Step in CompileStep]: readonly [sentence: string, part: number] } = {
  load: ['Reading the model.', 0.05],
  normalise: ['Working out shapes and constants.', 0.1],
  divide: ['Dividing it over the shards.', 0.25],
  lower: ['Working out what is exchanged.', 0.35],
  emit: ['Writing the parts.', 0.45],
};

/** Compiling is the first half of the bar, loading the second. */
function inWords(progress: ModelProgress): readonly [sentence: string, part?: number] {
  if (progress.phase === 'compile') return steps[progress.step];
  if (progress.phase === 'read') return ['Reading the model.', 0];
  const percent = Math.round(100 * progress.progress);
  return [`Loading the parts on the devices, ${percent} %.`, 0.5 + 0.5 * progress.progress];
}

function reportInWords({ totalMs, devices, rounds, sentBytes, receivedBytes }: RunReport): string {
  const exchanged = formatBytes(sentBytes + receivedBytes);
  return `${formatTime(totalMs)} on ${plural(devices, 'device')}, ${plural(rounds, 'round')}, ${exchanged} exchanged.`;
}

function title(name: string, details: string): HTMLElement {
  return createElement(
    'div',
    { class: 'model-title' },
    createElement('h2', {}, name),
    createElement('p', { class: 'hint' }, details),
  );
}

function signatureOf({ signature }: OpenModel): HTMLElement {
  const line = (what: string, { name, dataType, shape }: OpenModel['signature']['inputs'][number]) =>
    createElement(
      'li',
      {},
      `${what} `,
      createElement('b', {}, name),
      ` ${dataType} ${shape?.map((dim) => dim ?? '?').join(' × ') ?? 'of any shape'}`,
    );
  return createElement(
    'ul',
    { class: 'signature' },
    ...signature.inputs.map((value) => line('Input', value)),
    ...signature.outputs.map((value) => line('Output', value)),
  );
}

function inMillions(macs: number): string {
  return macs < 999.5e6 ? `${(macs / 1e6).toPrecision(3)} M` : `${(macs / 1e9).toPrecision(3)} G`;
}
