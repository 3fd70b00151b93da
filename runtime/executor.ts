/**
 * Runs one device's stages for any number of runs: a stage starts when its inputs are there, those that others wait
 * for go first, and what is sent leaves before the next stage starts. It knows no layer, no channel and no model.
 */
import type { Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { TensorHeader } from '../protocol/frame.ts';
import { Arrivals } from './arrivals.ts';
import type { Backend } from './backend.ts';
import type { Clock } from './clock.ts';
import { type Deliveries, type DispatchOptions, dispatch } from './dispatch.ts';
import { countReaders, type DeviceRunStats, ExecutorRun } from './executorRun.ts';
import type { LoadedProgram, LoadedStage } from './loadProgram.ts';
import type { Program } from './lower/program.ts';
import { TimelineRecorder } from './timelineRecorder.ts';
import { yieldToMessages } from './yieldToMessages.ts';

export type { Deliveries } from './dispatch.ts';
export type { DeviceRunStats } from './executorRun.ts';

export interface ExecutorOptions {
  readonly loaded: LoadedProgram;
  readonly backend: Backend;
  readonly openBatch: boolean;
  readonly clock: Clock;
  readonly deliveries: Deliveries;
}

interface Ready {
  readonly run: ExecutorRun;
  readonly stage: LoadedStage;
}

/** Remembered ends of runs, so that late frames are known as stale. */
const rememberedRuns = 1024;

export class Executor {
  readonly program: Program;
  readonly #options: ExecutorOptions;
  readonly #readers: ReadonlyMap<string, number>;
  readonly #arrivals: Arrivals;
  readonly #dispatching: DispatchOptions;
  readonly #runs = new Map<number, ExecutorRun>();
  readonly #ended = new Map<number, DeviceRunStats>();
  #busy = false;
  #closed = false;
  #idle: Promise<void> = Promise.resolve();

  constructor(options: ExecutorOptions) {
    const { program } = options.loaded;
    this.#options = options;
    this.program = program;
    this.#readers = countReaders(program);
    this.#arrivals = new Arrivals(program, options.openBatch);
    this.#dispatching = { program, deliveries: options.deliveries, isOver: (run) => this.#ended.has(run) };
  }

  /** Whether a frame fits what this device waits for. */
  expects(header: TensorHeader): 'accept' | 'stale' | 'unasked' {
    if (this.#ended.has(header.run)) return 'stale';
    const arrival = this.#arrivals.fitting(header);
    if (arrival === undefined) return 'unasked';
    return this.#runs.get(header.run)?.store.has(arrival.name) === true ? 'unasked' : 'accept';
  }

  /** From here on this run is recorded; starts it where it is not known yet. Undefined where it is over. */
  record(runId: number): TimelineRecorder | undefined {
    if (this.#ended.has(runId) || this.#closed) return undefined;
    const run = this.#runs.get(runId) ?? this.#start(runId);
    const recorder = run.recorder ?? new TimelineRecorder(this.#options.clock);
    run.recorder = recorder;
    // A device without shards has nothing to wait for.
    this.#endIfDone(run);
    return recorder;
  }

  /** An input from the host or a tensor from another device; starts the run where it is the first. */
  deliver(kind: 'input' | 'tensor', runId: number, id: number, tensor: Tensor): void {
    const arrival = this.#arrivals.get(kind, id);
    if (arrival === undefined || this.#ended.has(runId) || this.#closed) return;
    const run = this.#runs.get(runId) ?? this.#start(runId);
    if (kind === 'tensor') run.receivedBytes += tensor.data.byteLength;
    run.recorder?.arrived(kind, id, tensor.data.byteLength);
    try {
      run.store.put(arrival.name, this.#options.backend.upload(tensor));
    } catch (thrown) {
      this.#fail(run, thrown);
      return;
    }
    // A result that no node makes: an input that is an output too.
    dispatch(run, arrival.name, this.#dispatching)
      .then(() => this.#endIfDone(run))
      .catch((thrown: unknown) => this.#fail(run, thrown));
    this.#pump();
  }

  /** Drops a run; a stage that is running ends first. Its statistics stay readable for a while. */
  end(runId: number): DeviceRunStats {
    const run = this.#runs.get(runId);
    const known = this.#ended.get(runId);
    if (known !== undefined) return known;
    const stats = run?.stats ?? { computeMs: 0, sentBytes: 0, receivedBytes: 0 };
    run?.store.clear();
    this.#runs.delete(runId);
    this.#ended.set(runId, stats);
    const [oldest] = this.#ended.keys();
    if (this.#ended.size > rememberedRuns && oldest !== undefined) this.#ended.delete(oldest);
    return stats;
  }

  get activeRuns(): readonly number[] {
    return [...this.#runs.keys()];
  }

  /** Ends all runs and gives the sessions back once the running stage is done. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const id of this.activeRuns) this.end(id);
    await this.#idle;
    await this.#options.loaded.release();
  }

  #start(id: number): ExecutorRun {
    const run = new ExecutorRun(id, this.#options.loaded, this.#readers);
    this.#runs.set(id, run);
    return run;
  }

  #pump(): void {
    if (this.#busy || this.#closed) return;
    const next = this.#nextStage();
    if (next === undefined) return;
    this.#busy = true;
    this.#idle = this.#runNext(next).finally(() => {
      this.#busy = false;
      this.#pump();
    });
  }

  /** Of the oldest run that can go on. */
  #nextStage(): Ready | undefined {
    for (const run of this.#runs.values()) {
      const stage = run.nextStage();
      if (stage !== undefined) return { run, stage };
    }
    return undefined;
  }

  /**
   * What nobody waits for may be overtaken by what has just arrived: sessions can settle without a turn of the
   * event loop, so one is taken here.
   */
  async #runNext(next: Ready): Promise<void> {
    if (next.stage.stage.sends || this.program.receives.length === 0) return this.#runStage(next);
    await yieldToMessages();
    const chosen = this.#nextStage();
    if (chosen !== undefined) await this.#runStage(chosen);
  }

  async #runStage({ run, stage }: Ready): Promise<void> {
    try {
      await this.#tryStage(run, stage);
    } catch (thrown) {
      this.#fail(run, thrown);
    }
  }

  #fail(run: ExecutorRun, thrown: unknown): void {
    this.end(run.id);
    this.#options.deliveries.failed(run.id, StarlingError.from(thrown, 'RUN_FAILED'));
  }

  async #tryStage(run: ExecutorRun, stage: LoadedStage): Promise<void> {
    run.pending.delete(stage);
    const inputs = run.inputsOf(stage);
    const start = this.#options.clock.now();
    const outputs = await stage.session.run(inputs);
    const computed = this.#options.clock.now();
    run.computeMs += computed - start;
    if (this.#ended.has(run.id)) {
      for (const handle of outputs.values()) handle.release();
      return;
    }
    for (const [name, handle] of outputs) run.store.put(name, handle);
    for (const name of stage.stage.inputs) run.store.done(name);
    for (const name of outputs.keys()) await dispatch(run, name, this.#dispatching);
    this.#record(run, stage, start, computed);
    this.#endIfDone(run);
  }

  #record({ recorder }: ExecutorRun, { stage }: LoadedStage, startMs: number, computedMs: number): void {
    if (recorder === null) return;
    const index = this.program.stages.indexOf(stage);
    const waitedFor = recorder.lastArrived(this.#arrivals.waitsOf(index));
    recorder.stage({ stage: index, startMs, computedMs, endMs: this.#options.clock.now(), waitedFor });
  }

  #endIfDone(run: ExecutorRun): void {
    if (!run.isDone) return;
    this.end(run.id);
    const { recorder, leaving } = run;
    if (recorder === null) return;
    // A send that fails is reported where it is made.
    void Promise.allSettled(leaving).then(() => this.#options.deliveries.recorded(run.id, recorder.record()));
  }
}
