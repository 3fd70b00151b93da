/**
 * The runs that callers have asked for and that are not answered yet. Each settles exactly once: with its
 * outputs, with an error, or by its AbortSignal. Says nothing about when a run may start.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { DeviceApi, RunResult } from '../../workers/api.ts';

export type RunInputs = Parameters<DeviceApi['run']>[1];

export interface RunWishes {
  readonly signal?: AbortSignal | undefined;
  /** Its outcome has a timeline. */
  readonly timeline?: boolean | undefined;
}

export interface RunOutcome extends RunResult {
  /** Times the run was started again because a device was lost. */
  readonly restarts: number;
  /** Devices that held shards when it succeeded. */
  readonly devices: number;
}

/** One run that was taken from the queue: whoever took it settles it or puts it back. */
export interface QueuedRun {
  readonly inputs: RunInputs;
  readonly timeline: boolean;
  /** Its caller has an answer already, if only because of an abort. */
  readonly settled: boolean;
  readonly restarts: number;
  /** Of the restarts, those for which no device had left. */
  readonly failures: number;
  settle(outcome: RunOutcome | StarlingError): void;
  /** First in line again, unless its caller gave it up meanwhile. */
  putBack(why: 'interrupted' | 'failed'): void;
}

export class RunQueue {
  readonly #waiting: QueuedRun[] = [];
  readonly #onChange: () => void;

  /** `onChange` is called when a run is added, and when one is called off by its caller. */
  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  get length(): number {
    return this.#waiting.length;
  }

  add(inputs: RunInputs, { signal, timeline = false }: RunWishes = {}): Promise<RunOutcome> {
    return new Promise((resolve, reject) => {
      const callOff = () => {
        this.#remove(run);
        run.settle(new StarlingError('RUN_ABORTED', 'The run was called off by its caller.'));
        this.#onChange();
      };
      const run = {
        inputs,
        timeline,
        settled: false,
        restarts: 0,
        failures: 0,
        settle(outcome: RunOutcome | StarlingError): void {
          if (run.settled) return;
          run.settled = true;
          signal?.removeEventListener('abort', callOff);
          if (outcome instanceof StarlingError) reject(outcome);
          else resolve(outcome);
        },
        putBack: (why: 'interrupted' | 'failed'): void => {
          if (run.settled) return;
          run.restarts++;
          if (why === 'failed') run.failures++;
          this.#waiting.unshift(run);
        },
      };
      if (signal?.aborted === true) {
        callOff();
        return;
      }
      signal?.addEventListener('abort', callOff);
      this.#waiting.push(run);
      this.#onChange();
    });
  }

  take(): QueuedRun | undefined {
    return this.#waiting.shift();
  }

  rejectAll(error: StarlingError): void {
    for (const run of this.#waiting.splice(0)) run.settle(error);
  }

  #remove(run: QueuedRun): void {
    const at = this.#waiting.indexOf(run);
    if (at >= 0) this.#waiting.splice(at, 1);
  }
}
