/** A loaded model on the page: its inputs, a button that runs it over the room, and its outputs. */
import { StarlingError } from '../../protocol/errors.ts';
import type { RunReport, Session } from '../session.ts';
import type { OutputTensor } from '../tensors.ts';
import { createElement } from './createElement.ts';
import { createModelInput } from './modelInput.ts';
import { createModelOutput } from './modelOutput.ts';
import { formatBytes, formatTime, plural } from './sentences.ts';

export interface ModelRunsOptions {
  readonly session: Session;
  /** Of the panel: a run that is under way when it closes is called off. */
  readonly signal: AbortSignal;
  onError(thrown: unknown): void;
  /** The person chooses an input or starts a run: what was said of the one before is out of date. */
  onStart(): void;
  onDone(): void;
  onClose(): void;
}

export interface ModelRuns {
  readonly elements: readonly HTMLElement[];
  /** Takes a dropped file for one of the inputs; false where there is none. */
  take(file: File): boolean;
}

export function createModelRuns(options: ModelRunsOptions): ModelRuns {
  const { session, signal, onError, onStart, onDone, onClose } = options;
  const inputs = session.inputs.map((value, i) => createModelInput(value, i, { onStart, onError }));
  const run = createElement('button', { type: 'button', class: 'button', id: 'run-model' }, 'Run');
  const back = createElement('button', { type: 'button', class: 'quiet' }, 'Back to pictures');
  const line = createElement('p', { class: 'line', role: 'status' });
  const outputs = createElement('div', { class: 'outputs' });
  back.addEventListener('click', onClose);
  run.addEventListener('click', async () => {
    onStart();
    run.disabled = true;
    line.textContent = 'Running.';
    try {
      const feeds = Object.fromEntries(inputs.map((input) => [input.value.name, input.tensor()]));
      let said = 'Done.';
      const onReport = (report: RunReport) => {
        said = reportInWords(report);
      };
      const given = await session.run(feeds, { signal, onReport, timeline: true });
      line.textContent = said;
      outputs.replaceChildren(...outputsOf(session, given));
      onDone();
    } catch (thrown) {
      line.textContent = '';
      if (!signal.aborted) onError(StarlingError.from(thrown, 'RUN_FAILED'));
    } finally {
      run.disabled = false;
    }
  });
  return {
    elements: [
      ...inputs.map(({ element }) => element),
      createElement('div', { class: 'actions' }, run, back),
      line,
      outputs,
    ],
    take(file) {
      const input = inputs.find((one) => one.wants(file)) ?? inputs[0];
      input?.take(file).catch(onError);
      return input !== undefined;
    },
  };
}

function outputsOf(session: Session, given: Readonly<Record<string, OutputTensor>>): HTMLElement[] {
  return session.outputs.flatMap(({ name }) => {
    const tensor = given[name];
    return tensor === undefined ? [] : [createModelOutput(name, tensor)];
  });
}

function reportInWords({ totalMs, devices, rounds, sentBytes, receivedBytes }: RunReport): string {
  const exchanged = formatBytes(sentBytes + receivedBytes);
  return `${formatTime(totalMs)} on ${plural(devices, 'device')}, ${plural(rounds, 'round')}, ${exchanged} exchanged.`;
}
