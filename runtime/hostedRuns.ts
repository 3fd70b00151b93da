/** The runs that this device's page asked for: inputs go out, results come back, every run settles once. */
import type { Tensor } from '../graph/tensor.ts';
import { type ErrorCode, StarlingError } from '../protocol/errors.ts';
import type { AbortReason, TensorHeader } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import type { Backend } from './backend.ts';
import type { Clock } from './clock.ts';
import type { DeviceOptions, DeviceRunOptions, DeviceRunResult } from './deviceApi.ts';
import type { Epoch } from './epoch.ts';
import { checkInputs, cutFeeds, OutputCollector } from './hostRun.ts';
import type { RunRecords } from './runRecords.ts';

interface HostedRun {
  readonly epoch: Epoch;
  readonly collector: OutputCollector;
  readonly startedMs: number;
  readonly resolve: (result: DeviceRunResult) => void;
  readonly reject: (error: StarlingError) => void;
  readonly cancelTimeout: () => void;
  /** Results come as sends from the devices; bytes of those are counted here. */
  resultBytes: number;
  feedBytes: number;
}

export class HostedRuns {
  readonly #self: string;
  readonly #clock: Clock;
  readonly #backend: Pick<Backend, 'heapBytes'>;
  readonly #records: RunRecords;
  readonly #runs = new Map<number, HostedRun>();

  constructor({ id, clock, backend }: DeviceOptions, records: RunRecords) {
    this.#self = id;
    this.#clock = clock;
    this.#backend = backend;
    this.#records = records;
  }

  has(runId: number): boolean {
    return this.#runs.has(runId);
  }

  /** Rejects INPUT_INVALID, RUN_TIMEOUT, RUN_ABORTED, PEER_LOST, or what a device reported. */
  start(
    epoch: Epoch,
    runId: number,
    inputs: Readonly<Record<string, Tensor>>,
    { timeoutMs = limits.runMs, timeline = false }: DeviceRunOptions,
  ): Promise<DeviceRunResult> {
    const { graph, openBatch } = epoch;
    return new Promise<DeviceRunResult>((resolve, reject) => {
      checkInputs(graph, inputs, openBatch);
      const message = `The run took longer than ${timeoutMs} ms; a device may be frozen.`;
      const cancelTimeout = this.#clock.after(timeoutMs, () =>
        this.abort(runId, 'RUN_TIMEOUT', new StarlingError('RUN_TIMEOUT', message)),
      );
      const run: HostedRun = {
        epoch,
        collector: new OutputCollector(graph, epoch.room),
        startedMs: this.#clock.now(),
        resolve,
        reject,
        cancelTimeout,
        resultBytes: 0,
        feedBytes: 0,
      };
      this.#runs.set(runId, run);
      if (timeline) this.#startRecords(epoch, runId);
      this.#feed(runId, run, inputs);
      this.#finishIfComplete(runId, run);
    });
  }

  /** A result may be taken: it is asked for, of this type, and has not come yet. */
  expects(header: TensorHeader, epoch: Epoch, from: number): 'accept' | 'stale' | 'unasked' {
    const run = this.#runs.get(header.run);
    if (run === undefined || run.epoch !== epoch) return 'stale';
    const result = epoch.room.programs[from]?.results.find(({ id }) => id === header.transfer);
    return result !== undefined &&
      run.collector.expects(header.transfer) &&
      result.dataType === header.dataType
      ? 'accept'
      : 'unasked';
  }

  /** A part of an output, from another device or, with `own`, from this one. */
  collect(runId: number, id: number, tensor: Tensor, own = false): void {
    const run = this.#runs.get(runId);
    if (run === undefined) return;
    if (!own) {
      run.resultBytes += tensor.data.byteLength;
      this.#records.recorder(runId)?.arrived('output', id, tensor.data.byteLength);
    }
    run.collector.put(id, tensor);
    this.#finishIfComplete(runId, run);
  }

  /** Ends a run on all its devices; its caller gets `error`. */
  abort(runId: number, reason: AbortReason, error: StarlingError): void {
    const run = this.#runs.get(runId);
    if (run === undefined) return;
    this.#runs.delete(runId);
    run.cancelTimeout();
    run.epoch.end(runId);
    this.#records.drop(runId);
    for (const peer of run.epoch.placement.devices) {
      if (peer !== this.#self) run.epoch.tellAbort(peer, runId, reason);
    }
    run.reject(error);
  }

  /** A device that cannot go on tells the host, and the host tells everybody. */
  abortedBy(peer: string, runId: number, reason: AbortReason): void {
    const code: ErrorCode = reason;
    const error = new StarlingError(code, `Device "${peer}" could not finish the run (${reason}).`);
    this.abort(runId, reason, error);
  }

  rejectWhere(concerned: (epoch: Epoch) => boolean, reason: StarlingError): void {
    for (const [id, run] of this.#runs) {
      if (concerned(run.epoch)) this.abort(id, 'PEER_LOST', reason);
    }
  }

  #feed(runId: number, run: HostedRun, inputs: Readonly<Record<string, Tensor>>): void {
    const { epoch } = run;
    const feeds = [...cutFeeds(epoch.room, inputs)];
    const own = feeds.filter(({ feed }) => epoch.isSelf(feed.device));
    // The others' inputs leave before this device starts to compute.
    for (const { feed, tensor } of feeds.filter((given) => !own.includes(given))) {
      const bytes = tensor.data.byteLength;
      run.feedBytes += bytes;
      const sent = epoch.send(feed.device, 'input', runId, feed.id, tensor);
      this.#records.recorder(runId)?.queued('input', feed.id, bytes, sent);
      sent.catch((thrown: unknown) =>
        this.abort(runId, 'PEER_LOST', StarlingError.from(thrown, 'PEER_LOST')),
      );
    }
    for (const { feed, tensor } of own) epoch.executor.deliver('input', runId, feed.id, tensor);
  }

  #startRecords(epoch: Epoch, run: number): void {
    const recorder = epoch.executor.record(run);
    if (recorder === undefined) return;
    this.#records.start(run, epoch.placement.devices.length, recorder);
    epoch.tellRecord(run);
  }

  #finishIfComplete(runId: number, run: HostedRun): void {
    if (!run.collector.complete) return;
    this.#runs.delete(runId);
    run.cancelTimeout();
    const totalMs = this.#clock.now() - run.startedMs;
    const own = run.epoch.end(runId);
    const { room, placement } = run.epoch;
    const result = {
      outputs: run.collector.outputs(),
      stats: {
        totalMs,
        computeMs: own.computeMs,
        waitMs: Math.max(0, totalMs - own.computeMs),
        sentBytes: own.sentBytes + run.feedBytes,
        receivedBytes: own.receivedBytes + run.resultBytes,
        rounds: room.rounds,
        heapBytes: this.#backend.heapBytes?.() ?? null,
      },
    };
    const noted = this.#records.join(runId, run.startedMs, totalMs, { room, ...placement });
    noted.then(
      (timeline) => run.resolve(timeline === undefined ? result : { ...result, timeline }),
      run.reject,
    );
  }
}
