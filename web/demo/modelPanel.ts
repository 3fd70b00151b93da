/** A person's own model on the page, from the dropped file to its outputs: what is shown when. */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Room } from '../room.ts';
import type { Session } from '../session.ts';
import { type OpenModel, openModelFile } from '../worker/compileWorker.ts';
import { createElement } from './createElement.ts';
import { createFilePicker } from './filePicker.ts';
import { filesOf, type GivenFile } from './givenFiles.ts';
import type { Messages } from './messages.ts';
import { type ModelFiles, modelFilesOf, withDataFiles } from './modelFiles.ts';
import { cancelButton, createModelForm, type ModelWishes } from './modelForm.ts';
import { createModelRuns } from './modelRuns.ts';
import { createModelWaiting } from './modelWaiting.ts';
import { formatBytes, plural } from './sentences.ts';

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
  /** Whether the files are this panel's: a model always, its data where they are waited for, inputs where one is loaded. */
  take(files: readonly GivenFile[]): boolean;
  close(): void;
}

export function createModelPanel(root: HTMLElement, options: ModelPanelOptions): ModelPanel {
  const { messages, room, onOpen, onSession, onClose } = options;
  let own: AbortController | null = null;
  let replaced = false;
  let takeInput: ((file: File) => boolean) | null = null;
  /** A model whose data files are still to come. */
  let lacking: ModelFiles | null = null;

  const show = (state: string, ...children: readonly HTMLElement[]) => {
    root.dataset['state'] = state;
    root.hidden = false;
    root.replaceChildren(...children);
  };

  const close = () => {
    if (own === null) return;
    own.abort();
    own = null;
    takeInput = null;
    lacking = null;
    root.hidden = true;
    root.replaceChildren();
    root.dataset['state'] = 'closed';
    const had = replaced;
    replaced = false;
    onClose(had);
  };

  /** The person leaves, and with them what was said of their model. */
  const leave = () => {
    messages.clear();
    close();
  };

  /** An error ends the panel, but not after the person has left it. */
  const fail = (attempt: AbortController, thrown: unknown) => {
    if (attempt.signal.aborted) return;
    close();
    messages.error(StarlingError.from(thrown, 'INTERNAL'));
  };

  /** `again`: what the person chose the last time, and why that was not possible. */
  const open = async (files: ModelFiles, again?: { readonly filled: FormData; readonly error: unknown }) => {
    close();
    messages.clear();
    const { model: file, dataFiles } = files;
    const attempt = new AbortController();
    own = attempt;
    onOpen();
    const waiting = createModelWaiting(leave);
    show('reading', title(file.name, formatBytes(file.size)), waiting.element);
    waiting.show({ phase: 'read' });
    try {
      const model = await openModelFile(file, { dataFiles, signal: attempt.signal });
      const joined = await room();
      if (attempt.signal.aborted) return model.close();
      const form = createModelForm({
        signature: model.signature,
        devices: joined.devices.length,
        maxShards: limits.shards,
        filled: again?.filled,
        onCompile: (wishes, filled) =>
          void compile(attempt, file, model, wishes).catch((thrown: unknown) => {
            if (attempt.signal.aborted) return;
            // Other choices may do: nothing of what was filled in is lost.
            if (replaced) fail(attempt, thrown);
            else void open(files, { filled, error: thrown });
          }),
        onCancel: leave,
      });
      show('form', title(file.name, formatBytes(file.size)), signatureOf(model), form);
      if (again !== undefined) messages.error(again.error);
    } catch (thrown) {
      if (thrown instanceof StarlingError && thrown.code === 'DATA_FILE_MISSING')
        askForData(attempt, files, thrown);
      else fail(attempt, thrown);
    }
  };

  /** Whatever is dropped or chosen next goes with the model. */
  const askForData = (attempt: AbortController, files: ModelFiles, error: StarlingError) => {
    if (attempt.signal.aborted) return;
    lacking = files;
    const picker = createFilePicker({
      id: 'model-data',
      label: 'Choose its data files',
      accept: '',
      several: true,
      onFile: (_, all) => void open(withDataFiles(files, filesOf(all))),
    });
    const actions = createElement('div', { class: 'actions' }, picker, cancelButton(leave));
    const { name, size } = files.model;
    show('lacking', title(name, formatBytes(size)), createElement('p', {}, error.message), actions);
  };

  const compile = async (attempt: AbortController, file: File, model: OpenModel, wishes: ModelWishes) => {
    const waiting = createModelWaiting(leave);
    show('compiling', title(file.name, formatBytes(file.size)), waiting.element);
    messages.clear();
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
        waiting.show(progress);
      },
    });
    const session = await loading;
    if (!attempt.signal.aborted) showRuns(attempt, file, session);
  };

  const showRuns = (attempt: AbortController, file: File, session: Session) => {
    const runs = createModelRuns({
      session,
      signal: attempt.signal,
      onError: messages.error,
      onStart: () => messages.clear(),
      onDone() {
        root.dataset['runs'] = String(1 + Number(root.dataset['runs'] ?? 0));
      },
      onClose: leave,
    });
    takeInput = runs.take;
    root.dataset['runs'] = '0';
    const { numShards, weightBytes, macs } = session.plan;
    const size = `${plural(numShards, 'shard')}, ${formatBytes(weightBytes)} of weights, ${inMillions(macs)} multiplications`;
    show('ready', title(file.name, size), ...runs.elements);
  };

  root.hidden = true;
  return {
    close,
    take(files) {
      const [first] = files;
      const model = modelFilesOf(files) ?? (lacking === null ? null : withDataFiles(lacking, files));
      if (model !== null) void open(model);
      return model !== null || (first !== undefined && takeInput?.(first.file)) || own !== null;
    },
  };
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
  return macs < 999.5e6 ? `${(macs / 1e6).toPrecision(3)} million` : `${(macs / 1e9).toPrecision(3)} billion`;
}
