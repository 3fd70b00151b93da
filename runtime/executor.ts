/**
 * Runs one device's stages for any number of runs: a stage starts when its inputs are there, those that others wait
 * for go first, and what is sent leaves before the next stage starts. It knows no layer, no channel and no model.
 */
import type { Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { TensorHeader } from '../protocol/frame.ts';
import type { Backend } from './backend.ts';
import type { Clock } from './clock.ts';
import type { LoadedProgram, LoadedStage } from './loadProgram.ts';
import type { Feed, Program, Result, Transfer } from './lower/program.ts';
import { sameDims } from './sameDims.ts';
import { type DeviceRecord, TimelineRecorder } from './timelineRecorder.ts';
import { ValueStore } from './valueStore.ts';
import { yieldToMessages } from './yieldToMessages.ts';

/** What gets a tensor copies it before it returns: its bytes may lie in the engine's memory. */
export interface Deliveries {
  /** Resolves when the frame is with the channel. */
  sendTransfer(run: number, transfer: Transfer, tensor: Tensor): Promise<void>;
  sendResult(run: number, result: Result, tensor: Tensor): Promise<void>;
  /** A run that is recorded has left this device: all it had to send is with the channels. */
  recorded(run: number, record: DeviceRecord): void;
  /** A stage or a send of this run failed on this device. */
  failed(run: number, error: StarlingError): void;
}

export interface ExecutorOptions {
  readonly loaded: LoadedProgram;
  readonly backend: Backend;
  readonly openBatch: boolean;
  readonly clock: Clock;
  readonly deliveries: Deliveries;
}

/** What one device did for one run. */
export interface DeviceRunStats {
  readonly computeMs: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

/** What comes from outside under a local name. */
type Arrival = Pick<Feed, 'name' | 'dataType' | 'dims'>;

interface Run {
  readonly id: number;
  readonly store: ValueStore;
  readonly pending: Set<LoadedStage>;
  /** Sends and results that have not left yet. */
  outgoing: number;
  /** Of sends and results that leave, for a run that is recorded. */
  readonly leaving: Promise<void>[];
  recorder: TimelineRecorder | null;
  computeMs: number;
  sentBytes: number;
  receivedBytes: number;
}

interface Ready {
  readonly run: Run;
  readonly stage: LoadedStage;
}

/** Remembered ends of runs, so that late frames are known as stale. */
const rememberedRuns = 1024;

export class Executor {
  readonly program: Program;
  readonly #options: ExecutorOptions;
  readonly #readers: ReadonlyMap<string, number>;
  /** By kind and number. */
  readonly #arrivals: ReadonlyMap<string, Arrival>;
  /** Numbers of the transfers that each stage reads, by its index. */
  readonly #waits: readonly (readonly number[])[];
  readonly #runs = new Map<number, Run>();
  readonly #ended = new Map<number, DeviceRunStats>();
  #busy = false;
  #closed = false;
  #idle: Promise<void> = Promise.resolve();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    this.program = options.loaded.program;
    this.#readers = countReaders(this.program);
    const arrivals = new Map<string, Arrival>();
    for (const feed of this.program.feeds) arrivals.set(`input ${feed.id}`, feed);
    for (const { id, targetName, dataType, dims } of this.program.receives) {
      arrivals.set(`tensor ${id}`, { name: targetName, dataType, dims });
    }
    this.#arrivals = arrivals;
    this.#waits = this.program.stages.map(({ inputs }) =>
      this.program.receives.filter(({ targetName }) => inputs.includes(targetName)).map(({ id }) => id),
    );
  }

  /** Whether a frame fits what this device waits for. */
  expects(header: TensorHeader): 'accept' | 'stale' | 'unasked' {
    if (this.#ended.has(header.run)) return 'stale';
    const arrival = this.#arrivals.get(`${header.kind} ${header.transfer}`);
    if (arrival === undefined || arrival.dataType !== header.dataType) return 'unasked';
    if (!sameDims(arrival.dims, header.dims, this.#options.openBatch)) return 'unasked';
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
    const arrival = this.#arrivals.get(`${kind} ${id}`);
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
    this.#dispatch(run, arrival.name)
      .then(() => this.#endIfDone(run))
      .catch((thrown: unknown) => this.#fail(run, thrown));
    this.#pump();
  }

  /** Drops a run; a stage that is running ends first. Its statistics stay readable for a while. */
  end(runId: number): DeviceRunStats {
    const run = this.#runs.get(runId);
    const known = this.#ended.get(runId);
    if (known !== undefined) return known;
    const stats = {
      computeMs: run?.computeMs ?? 0,
      sentBytes: run?.sentBytes ?? 0,
      receivedBytes: run?.receivedBytes ?? 0,
    };
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

  #start(id: number): Run {
    const run: Run = {
      id,
      store: new ValueStore(this.#readers),
      pending: new Set(this.#options.loaded.stages),
      outgoing: this.program.sends.length + this.program.results.length,
      leaving: [],
      recorder: null,
      computeMs: 0,
      sentBytes: 0,
      receivedBytes: 0,
    };
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

  /** Of the oldest run that can go on: a stage that others wait for, else the first that is ready. */
  #nextStage(): Ready | undefined {
    for (const run of this.#runs.values()) {
      let first: LoadedStage | undefined;
      for (const stage of run.pending) {
        if (!stage.stage.inputs.every((name) => run.store.has(name))) continue;
        if (stage.stage.sends) return { run, stage };
        first ??= stage;
      }
      if (first !== undefined) return { run, stage: first };
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

  #fail(run: Run, thrown: unknown): void {
    this.end(run.id);
    this.#options.deliveries.failed(run.id, StarlingError.from(thrown, 'RUN_FAILED'));
  }

  async #tryStage(run: Run, stage: LoadedStage): Promise<void> {
    run.pending.delete(stage);
    const inputs = new Map(
      stage.stage.inputs.flatMap((name) => {
        const handle = run.store.get(name);
        return handle === undefined ? [] : [[name, handle] as const];
      }),
    );
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
    for (const name of outputs.keys()) await this.#dispatch(run, name);
    this.#record(run, stage, start, computed);
    this.#endIfDone(run);
  }

  #record({ recorder }: Run, { stage }: LoadedStage, startMs: number, computedMs: number): void {
    if (recorder === null) return;
    const index = this.program.stages.indexOf(stage);
    const waitedFor = recorder.lastArrived(this.#waits[index] ?? []);
    recorder.stage({ stage: index, startMs, computedMs, endMs: this.#options.clock.now(), waitedFor });
  }

  #endIfDone(run: Run): void {
    if (run.outgoing > 0 || run.pending.size > 0) return;
    this.end(run.id);
    const { recorder, leaving } = run;
    if (recorder === null) return;
    // A send that fails is reported where it is made.
    void Promise.allSettled(leaving).then(() => this.#options.deliveries.recorded(run.id, recorder.record()));
  }

  /** Reads a value once for all who get it, and hands it on. */
  async #dispatch(run: Run, name: string): Promise<void> {
    const sends = this.program.sends.filter(({ sourceName }) => sourceName === name);
    const results = this.program.results.filter((result) => result.name === name);
    const handle = run.store.get(name);
    if (handle === undefined || sends.length + results.length === 0) return;
    const tensor = handle.peek() ?? (await handle.read());
    const { deliveries } = this.#options;
    const leave = (kind: 'tensor' | 'output', id: number, sent: Promise<void>) => {
      run.outgoing--;
      run.store.done(name);
      if (run.recorder !== null) {
        run.recorder.queued(kind, id, tensor.data.byteLength, sent);
        run.leaving.push(sent);
      }
      sent.catch((thrown: unknown) => {
        if (this.#ended.has(run.id)) return;
        deliveries.failed(run.id, StarlingError.from(thrown, 'PEER_LOST'));
      });
    };
    const bytes = tensor.data.byteLength;
    for (const transfer of sends) {
      run.sentBytes += bytes;
      leave('tensor', transfer.id, deliveries.sendTransfer(run.id, transfer, tensor));
    }
    for (const result of results) {
      leave('output', result.id, deliveries.sendResult(run.id, result, tensor));
    }
  }
}

function countReaders(program: Program): ReadonlyMap<string, number> {
  const readers = new Map<string, number>();
  const names = [
    ...program.stages.flatMap(({ inputs }) => inputs),
    ...program.sends.map(({ sourceName }) => sourceName),
    ...program.results.map(({ name }) => name),
  ];
  for (const name of names) readers.set(name, (readers.get(name) ?? 0) + 1);
  return readers;
}
