/**
 * The runs of this page while it is host: one at a time, started again when a device was lost. Whether a run may start
 * is decided in decisions.ts.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { ErrorMessage, Placement } from '../../protocol/roomMessages.ts';
import type { RunResult } from '../../workers/api.ts';
import type { Clock } from '../clock.ts';
import type { CoordinatedDevice, RunEvent } from './coordinatorPorts.ts';
import { type QueuedRun, type RunInputs, type RunOutcome, RunQueue, type RunWishes } from './runQueue.ts';
import type { WakeUp } from './wakeUp.ts';

export interface RunLoopOptions {
  readonly self: string;
  readonly device: Pick<CoordinatedDevice, 'run' | 'abort'>;
  readonly clock: Clock;
  readonly wakeUp: WakeUp;
  /** A run that is interrupted while the page has no session is over. */
  hasSession(): boolean;
  exclude(id: string, error: ErrorMessage): void;
  onRun(event: RunEvent): void;
  /** A run has ended well that nobody recorded. */
  onTimed(placement: Placement, inputs: RunInputs, result: RunResult): void;
  /** A run was added, called off or has ended. */
  onChange(): void;
}

interface RunningRun {
  readonly run: QueuedRun;
  readonly runId: number;
  interrupted: boolean;
}

export class RunLoop {
  readonly #options: RunLoopOptions;
  readonly #queue: RunQueue;
  #running: RunningRun | null = null;
  #nextRunId = 1;
  #lastRunEnd = Number.NEGATIVE_INFINITY;
  #retryAt = Number.NEGATIVE_INFINITY;
  #closed: StarlingError | null = null;

  constructor(options: RunLoopOptions) {
    this.#options = options;
    this.#queue = new RunQueue(() => options.onChange());
  }

  /** Runs that have not started. */
  get waiting(): number {
    return this.#queue.length;
  }

  get running(): boolean {
    return this.#running !== null;
  }

  /** The caller of the run that is under way has an answer already. */
  get abandoned(): boolean {
    return this.#running?.run.settled === true;
  }

  /** Nothing is to do, and has not been for a while. */
  isIdle(): boolean {
    return this.waiting === 0 && this.#options.wakeUp.isPast(this.#lastRunEnd + limits.hostIdleMs);
  }

  /** The room has had time to notice who was lost in the last run. */
  mayStart(): boolean {
    return this.#options.wakeUp.isPast(this.#retryAt);
  }

  add(inputs: RunInputs, wishes: RunWishes): Promise<RunOutcome> {
    return this.#queue.add(inputs, wishes);
  }

  startNext(placement: Placement): void {
    const run = this.#queue.take();
    if (run === undefined) return;
    const { device, onRun } = this.#options;
    const running: RunningRun = { run, runId: this.#nextRunId++, interrupted: false };
    this.#running = running;
    onRun({ phase: 'started', devices: holdersOf(placement), waiting: this.waiting });
    device.run(running.runId, run.inputs, { timeline: run.timeline }).then(
      (result) => this.#finish(running, placement, result),
      (thrown: unknown) => this.#finish(running, placement, StarlingError.from(thrown, 'RUN_FAILED')),
    );
  }

  interrupt(): void {
    const running = this.#running;
    if (running === null || running.interrupted) return;
    running.interrupted = true;
    // Whether the Worker still knew the run does not matter: its pending call settles either way.
    this.#options.device.abort(running.runId).catch(() => undefined);
  }

  rejectAll(error: StarlingError): void {
    this.#queue.rejectAll(error);
    this.#running?.run.settle(error);
    this.interrupt();
  }

  /** Nothing is told any more. */
  close(reason: StarlingError): void {
    this.#closed = reason;
  }

  #finish(running: RunningRun, placement: Placement, outcome: RunResult | StarlingError): void {
    const { run } = running;
    const { clock, onRun, onTimed, onChange, hasSession } = this.#options;
    this.#running = null;
    this.#lastRunEnd = clock.now();
    if (this.#closed !== null) {
      run.settle(this.#closed);
      return;
    }
    if (!(outcome instanceof StarlingError)) {
      const answer = { ...outcome, restarts: run.restarts, devices: holdersOf(placement) };
      if (!run.timeline) onTimed(placement, run.inputs, outcome);
      onRun({ phase: 'finished', outcome: answer });
      run.settle(answer);
    } else if (running.interrupted && hasSession()) {
      if (!run.settled) onRun({ phase: 'interrupted', reason: 'A device left; the run starts again.' });
      run.putBack('interrupted');
    } else if (isLoss(outcome) && placement.devices.length > 1 && hasSession()) {
      this.#retry(run, placement, outcome);
    } else {
      if (!run.settled) onRun({ phase: 'failed', error: outcome });
      run.settle(outcome);
    }
    onChange();
  }

  /** Somebody was lost whom the room has not missed yet; who is lost again and again is left out. */
  #retry(run: QueuedRun, { devices }: Placement, loss: StarlingError): void {
    const { self, clock, exclude, onRun } = this.#options;
    if (run.failures >= limits.runRetries) {
      for (const id of devices) if (id !== self) exclude(id, loss.toJSON());
    }
    onRun({ phase: 'interrupted', reason: loss.message });
    this.#retryAt = clock.now() + limits.runRetryMs;
    run.putBack('failed');
  }
}

/** A host may have no shard and only feed and collect. */
function holdersOf({ shards }: Placement): number {
  return shards.filter((held) => held.length > 0).length;
}

/** Errors that say nothing about the run itself: on other devices it may well succeed. */
function isLoss(error: StarlingError): boolean {
  return error.code === 'PEER_LOST' || error.code === 'RUN_ABORTED' || error.code === 'NO_DEVICE';
}
