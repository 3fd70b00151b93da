/**
 * Runs that wait for an instance: bounded, fair between callers, each settled exactly once by its answer, an error,
 * its deadline or its AbortSignal. Forms batches of one shape; knows nothing of instances and objectives.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';
import type { RunShape } from './instancePool.ts';
import { Overloaded } from './overloaded.ts';

export interface SubmitOptions {
  readonly signal?: AbortSignal;
  /** RUN_TIMEOUT when there is no answer after so long; `limits.runMs` unless told. */
  readonly deadlineMs?: number;
  /**
   * Who asks: a camera, a user. Callers take turns, and each gets its answers in the order in which it asked.
   * Runs without a caller share one turn and are answered as they come.
   */
  readonly caller?: string;
}

export interface QueuedRun<Run, Answer> {
  readonly run: Run;
  readonly shape: RunShape;
  /** By the clock, in milliseconds. */
  readonly queuedAt: number;
  /** Its batch failed: it is tried again by itself, so that another's bad input is not its own failure. */
  readonly alone: boolean;
  /** Its outcome is known; it may be held back until the caller's earlier runs have theirs. */
  readonly settled: boolean;
  settle(outcome: Answer | StarlingError): void;
}

interface Entry<Run, Answer> extends QueuedRun<Run, Answer> {
  alone: boolean;
  outcome: { readonly value: Answer | StarlingError } | null;
  readonly lane: Lane<Run, Answer>;
  deliver(): void;
}

/** One caller. */
interface Lane<Run, Answer> {
  readonly caller: string | null;
  readonly waiting: Entry<Run, Answer>[];
  /** All its runs without a delivered outcome, oldest first. */
  readonly open: Set<Entry<Run, Answer>>;
}

export interface RequestQueueOptions {
  readonly capacity: number;
  readonly clock: Clock;
  /** For the refusal: milliseconds until what waits now is served, null when unknown. */
  expectedWaitMs(): number | null;
  /** Why no more is served at once, where the room could not hold more instances. */
  refusal(): StarlingError | null;
  /** A run was added, given up or ran out of time. */
  onChange(): void;
}

export class RequestQueue<Run, Answer> {
  readonly #options: RequestQueueOptions;
  /** In the order of their next turns. */
  readonly #lanes = new Map<string | null, Lane<Run, Answer>>();
  #length = 0;
  #items = 0;

  constructor(options: RequestQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#length;
  }

  /** Items of all waiting runs. */
  get items(): number {
    return this.#items;
  }

  add(run: Run, shape: RunShape, options: SubmitOptions = {}): Promise<Answer> {
    const { clock, onChange } = this.#options;
    const { signal, deadlineMs = limits.runMs, caller = null } = options;
    if (signal?.aborted === true) return Promise.reject(calledOff());
    const overloaded = this.#makeRoom(caller);
    if (overloaded !== null) return Promise.reject(overloaded);
    const lane = this.#lane(caller);
    return new Promise<Answer>((resolve, reject) => {
      const giveUp = (error: StarlingError) => {
        entry.outcome = { value: error };
        this.#withdraw(entry);
        entry.deliver();
        this.#flush(lane);
        onChange();
      };
      const abort = () => giveUp(calledOff());
      const cancelDeadline = clock.after(deadlineMs, () =>
        giveUp(
          new StarlingError(
            'RUN_TIMEOUT',
            `The run had no answer within its ${deadlineMs} ms; allow more time or send fewer runs.`,
          ),
        ),
      );
      const entry: Entry<Run, Answer> = {
        run,
        shape,
        lane,
        queuedAt: clock.now(),
        alone: false,
        outcome: null,
        get settled() {
          return entry.outcome !== null;
        },
        settle: (value) => {
          if (entry.outcome !== null) return;
          entry.outcome = { value };
          if (lane.caller === null) entry.deliver();
          this.#flush(lane);
        },
        deliver: () => {
          cancelDeadline();
          signal?.removeEventListener('abort', abort);
          lane.open.delete(entry);
          const value = entry.outcome?.value;
          if (value instanceof StarlingError) reject(value);
          else resolve(value as Answer);
        },
      };
      signal?.addEventListener('abort', abort);
      lane.open.add(entry);
      this.#insert(entry, 'last');
      onChange();
    });
  }

  /**
   * The next batch: runs of one shape with at most `maxItems` items in all, from the callers in turn; empty when
   * nothing waits. Only a single run with more items than that is given as it is.
   */
  take(maxItems: number): readonly QueuedRun<Run, Answer>[] {
    const batch: Entry<Run, Answer>[] = [];
    let items = 0;
    for (let taken = true; taken; ) {
      taken = false;
      for (const lane of [...this.#lanes.values()]) {
        const entry = lane.waiting[0];
        if (entry === undefined) continue;
        const first = batch[0];
        if (first !== undefined) {
          const fits = entry.shape.key === first.shape.key && items + entry.shape.items <= maxItems;
          if (!fits || entry.alone) continue;
        }
        this.#withdraw(entry);
        this.#lanes.delete(lane.caller);
        this.#lanes.set(lane.caller, lane);
        batch.push(entry);
        items += entry.shape.items;
        if (entry.alone || items >= maxItems) return batch;
        taken = true;
      }
    }
    return batch;
  }

  /** Runs of a batch that failed: first in line again, each by itself. */
  putBack(runs: readonly QueuedRun<Run, Answer>[]): void {
    for (const run of (runs as readonly Entry<Run, Answer>[]).toReversed()) {
      if (run.outcome !== null) continue;
      run.alone = true;
      this.#insert(run, 'first');
    }
  }

  /** Every run that has no outcome yet, waiting or under way, gets this error. */
  rejectAll(error: StarlingError): void {
    for (const lane of [...this.#lanes.values()]) {
      for (const entry of [...lane.open]) {
        this.#withdraw(entry);
        entry.settle(error);
      }
    }
  }

  /** Null when there is room, made by refusing the newest run of a caller that has more waiting than its share. */
  #makeRoom(caller: string | null): Overloaded | null {
    const { capacity, expectedWaitMs, refusal: instances } = this.#options;
    if (this.#length < capacity) return null;
    const refusal = new Overloaded(this.#length, capacity, expectedWaitMs(), instances());
    const own = this.#lanes.get(caller)?.waiting.length ?? 0;
    let longest: Lane<Run, Answer> | null = null;
    for (const lane of this.#lanes.values()) {
      if (lane.waiting.length > (longest?.waiting.length ?? own + 1)) longest = lane;
    }
    const newest = longest?.waiting.at(-1);
    if (newest === undefined) return refusal;
    this.#withdraw(newest);
    newest.outcome = { value: refusal };
    newest.deliver();
    return null;
  }

  #lane(caller: string | null): Lane<Run, Answer> {
    let lane = this.#lanes.get(caller);
    if (lane === undefined) {
      lane = { caller, waiting: [], open: new Set() };
      this.#lanes.set(caller, lane);
    }
    return lane;
  }

  #insert(entry: Entry<Run, Answer>, where: 'first' | 'last'): void {
    if (where === 'first') entry.lane.waiting.unshift(entry);
    else entry.lane.waiting.push(entry);
    this.#length++;
    this.#items += entry.shape.items;
  }

  /** Out of the waiting ones, if it is among them. */
  #withdraw(entry: Entry<Run, Answer>): void {
    const at = entry.lane.waiting.indexOf(entry);
    if (at < 0) return;
    entry.lane.waiting.splice(at, 1);
    this.#length--;
    this.#items -= entry.shape.items;
  }

  /** Delivers what is known, in order, up to the caller's first run without an outcome. */
  #flush(lane: Lane<Run, Answer>): void {
    if (lane.caller !== null) {
      for (const entry of [...lane.open]) {
        if (entry.outcome === null) break;
        entry.deliver();
      }
    }
    if (lane.open.size === 0 && this.#lanes.get(lane.caller) === lane) this.#lanes.delete(lane.caller);
  }
}

function calledOff(): StarlingError {
  return new StarlingError('RUN_ABORTED', 'The run was called off by its caller.');
}
