/**
 * One device of a room: its links to the others, and for each placement (epoch) the programs of the room and its own
 * executor. Both the Worker in a tab and the verifier in Node are made of it. It knows no browser and no plan files.
 */
import type { Model } from '../graph/graph.ts';
import type { Tensor } from '../graph/tensor.ts';
import { type ErrorCode, StarlingError } from '../protocol/errors.ts';
import {
  type AbortFrame,
  type AbortReason,
  abortReasons,
  type RunFrame,
  type TensorHeader,
} from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import type { RunTimeline } from '../protocol/timeline.ts';
import type { WireType } from '../protocol/wireType.ts';
import type { Backend } from './backend.ts';
import type { MessageChannelLike } from './channel.ts';
import type { Clock } from './clock.ts';
import { type DeviceRunStats, Executor } from './executor.ts';
import { type FetchFileOptions, FileTransfer } from './fileTransfer.ts';
import { checkInputs, cutFeeds, OutputCollector } from './hostRun.ts';
import { createLink, type Link } from './link.ts';
import type { LinkStats } from './linkStats.ts';
import { loadProgram } from './loadProgram.ts';
import { lower } from './lower/lower.ts';
import type { Division, Result, RoomProgram } from './lower/program.ts';
import type { Verdict } from './reassembly.ts';
import { RunRecords } from './runRecords.ts';
import { type DeviceRecord, packRecord, unpackRecord } from './timelineRecorder.ts';
import { warmUp } from './warmUp.ts';
import { buildBlob, type WeightSource } from './weights/blob.ts';

export interface DevicePlacement {
  readonly epoch: number;
  /** Device ids; their order numbers the devices. */
  readonly devices: readonly string[];
  /** Shards of each device of `devices`. */
  readonly shards: readonly (readonly number[])[];
  readonly host: string;
}

export interface DevicePlan {
  readonly model: Model;
  readonly division: Division;
  readonly openBatch: boolean;
  readonly weights: WeightSource;
  /** Runs the stages a few times before they are used; default true. */
  readonly warmUp?: boolean;
}

export interface DeviceRunResult {
  readonly outputs: Readonly<Record<string, Tensor>>;
  readonly stats: {
    readonly totalMs: number;
    readonly computeMs: number;
    /** Time in which this device neither computed nor had anything to compute. */
    readonly waitMs: number;
    readonly sentBytes: number;
    readonly receivedBytes: number;
    readonly rounds: number;
  };
  /** Where it was asked for. */
  readonly timeline?: RunTimeline;
}

export interface DeviceRunOptions {
  readonly timeoutMs?: number;
  /** Notes when each stage ran and each transfer travelled; the answer waits for the devices' notes. */
  readonly timeline?: boolean;
}

export interface DeviceOptions {
  readonly id: string;
  readonly backend: Backend;
  readonly clock: Clock;
  /** A link closed; runs that needed it have been rejected. */
  readonly onLost?: (peer: string, reason: StarlingError) => void;
  /** A run failed on this device; its host hears only the code. */
  readonly onFailed?: (error: StarlingError) => void;
  /** Files that other devices may have, by SHA-256; none where it is left out. */
  readonly readFile?: (sha256: string) => Promise<Uint8Array | undefined>;
}

interface Epoch {
  readonly placement: DevicePlacement;
  readonly plan: DevicePlan;
  readonly room: RoomProgram;
  readonly executor: Executor;
}

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

export class Device {
  readonly #options: DeviceOptions;
  readonly #links = new Map<string, Link>();
  readonly #epochs = new Map<number, Epoch>();
  readonly #hosted = new Map<number, HostedRun>();
  readonly #records: RunRecords;
  readonly #files: FileTransfer;

  constructor(options: DeviceOptions) {
    this.#options = options;
    this.#records = new RunRecords(options.clock);
    this.#files = new FileTransfer({
      clock: options.clock,
      send: async (peer, frame) => {
        const link = this.#links.get(peer);
        if (link === undefined) throw notConnected(peer);
        await link.send(frame);
      },
      read: async (sha256) => options.readFile?.(sha256),
    });
  }

  /** The devices that this one has a link to. */
  get peers(): readonly string[] {
    return [...this.#links.keys()];
  }

  /** A file of a peer by its hash, checked; null where it has not got it. Rejects as FileTransfer.fetch does. */
  fetchFile(peer: string, sha256: string, options: FetchFileOptions): Promise<Uint8Array | null> {
    return this.#files.fetch(peer, sha256, options);
  }

  /** Resolves when both ends hear each other. Rejects PEER_UNREACHABLE or PROTOCOL_VERSION. */
  async connect(peer: string, channel: MessageChannelLike): Promise<void> {
    this.disconnect(peer);
    const link: Link = createLink({
      channel,
      clock: this.#options.clock,
      peer,
      accept: (header) => this.#accept(peer, header),
      onFrame: (frame) => this.#receive(peer, frame),
      onClose: (reason) => this.#lost(peer, link, reason),
    });
    this.#links.set(peer, link);
    await link.opened;
  }

  disconnect(peer: string): void {
    this.#links.get(peer)?.close();
  }

  linkStats(peer: string): LinkStats | undefined {
    return this.#links.get(peer)?.stats();
  }

  /** Lowers, builds the sessions and warms them up; the epochs before stay until `retire`. */
  async load(
    plan: DevicePlan,
    placement: DevicePlacement,
    onProgress?: (done: number, total: number) => void,
  ): Promise<RoomProgram> {
    const room = lower(plan.model.graph, plan.division, placement.shards);
    const program = room.programs[placement.devices.indexOf(this.#options.id)];
    if (program === undefined) {
      throw new StarlingError(
        'PLACEMENT_INVALID',
        `Device "${this.#options.id}" is not in the placement of epoch ${placement.epoch}.`,
      );
    }
    const { backend, clock } = this.#options;
    const { model, openBatch } = plan;
    const blob = buildBlob(program, model, plan.weights);
    const loaded = await loadProgram(program, blob, {
      model,
      backend,
      openBatch,
      ...(onProgress === undefined ? {} : { onProgress }),
    });
    if (plan.warmUp !== false) await warmUp(loaded, { backend, clock });
    const executor = new Executor({
      loaded,
      backend,
      openBatch,
      clock,
      deliveries: {
        sendTransfer: (run, { id, to }, tensor) => this.#send(epoch, to, 'tensor', run, id, tensor),
        sendResult: (run, result, tensor) => this.#sendResult(epoch, run, result, tensor),
        recorded: (run, record) => this.#recorded(epoch, run, record),
        failed: (run, error) => this.#failed(epoch, run, error),
      },
    });
    const epoch: Epoch = { placement, plan, room, executor };
    await this.#epochs.get(placement.epoch)?.executor.close();
    this.#epochs.set(placement.epoch, epoch);
    return room;
  }

  /** Gives back every epoch before this one; runs that are still on them are rejected. */
  async retire(before: number): Promise<void> {
    for (const [number, { executor }] of this.#epochs) {
      if (number >= before) continue;
      this.#epochs.delete(number);
      this.#rejectWhere(
        (run) => run.epoch.placement.epoch === number,
        new StarlingError('RUN_ABORTED', 'The placement changed while the run was under way; run again.'),
      );
      for (const link of this.#links.values()) link.discard((header) => header.epoch === number);
      await executor.close();
    }
  }

  /**
   * One run over the room, hosted here, on the newest epoch that is loaded. Rejects INPUT_INVALID, NO_DEVICE,
   * RUN_TIMEOUT, RUN_ABORTED, PEER_LOST, or what a device reported.
   */
  run(
    runId: number,
    inputs: Readonly<Record<string, Tensor>>,
    { timeoutMs = limits.runMs, timeline = false }: DeviceRunOptions = {},
  ): Promise<DeviceRunResult> {
    const newest = Math.max(...this.#epochs.keys());
    const epoch = this.#epochs.get(newest);
    if (epoch === undefined)
      return Promise.reject(new StarlingError('NO_DEVICE', 'No plan is loaded; load one before running.'));
    const { graph } = epoch.plan.model;
    return new Promise<DeviceRunResult>((resolve, reject) => {
      checkInputs(graph, inputs, epoch.plan.openBatch);
      const cancelTimeout = this.#options.clock.after(timeoutMs, () =>
        this.#abort(
          runId,
          'RUN_TIMEOUT',
          new StarlingError(
            'RUN_TIMEOUT',
            `The run took longer than ${timeoutMs} ms; a device may be frozen.`,
          ),
        ),
      );
      const run: HostedRun = {
        epoch,
        collector: new OutputCollector(graph, epoch.room),
        startedMs: this.#options.clock.now(),
        resolve,
        reject,
        cancelTimeout,
        resultBytes: 0,
        feedBytes: 0,
      };
      this.#hosted.set(runId, run);
      if (timeline) this.#startRecords(epoch, runId);
      const feeds = [...cutFeeds(epoch.room, inputs)];
      const own = feeds.filter(({ feed }) => this.#isSelf(epoch, feed.device));
      // The others' inputs leave before this device starts to compute.
      for (const { feed, tensor } of feeds.filter((given) => !own.includes(given))) {
        const bytes = tensor.data.byteLength;
        run.feedBytes += bytes;
        const sent = this.#send(epoch, feed.device, 'input', runId, feed.id, tensor);
        this.#records.recorder(runId)?.queued('input', feed.id, bytes, sent);
        sent.catch((thrown: unknown) =>
          this.#abort(runId, 'PEER_LOST', StarlingError.from(thrown, 'PEER_LOST')),
        );
      }
      for (const { feed, tensor } of own) epoch.executor.deliver('input', runId, feed.id, tensor);
      this.#finishIfComplete(runId, run);
    });
  }

  abort(runId: number): void {
    this.#abort(runId, 'RUN_ABORTED', new StarlingError('RUN_ABORTED', 'The run was cancelled.'));
  }

  async close(): Promise<void> {
    for (const link of this.#links.values()) link.close();
    await this.retire(Number.POSITIVE_INFINITY);
  }

  #isSelf(epoch: Epoch, device: number): boolean {
    return epoch.placement.devices[device] === this.#options.id;
  }

  #accept(peer: string, header: TensorHeader): Verdict {
    if (header.kind === 'fileAsk' || header.kind === 'file') return this.#files.accept(peer, header);
    const epoch = this.#epochs.get(header.epoch);
    if (epoch === undefined) return 'stale';
    const from = epoch.placement.devices.indexOf(peer);
    if (header.kind === 'output') {
      const run = this.#hosted.get(header.run);
      if (run === undefined || run.epoch !== epoch) return 'stale';
      const result = epoch.room.programs[from]?.results.find(({ id }) => id === header.transfer);
      return result !== undefined &&
        run.collector.expects(header.transfer) &&
        result.dataType === header.dataType
        ? 'accept'
        : 'unasked';
    }
    if (header.kind === 'recorded') return this.#records.expects(header, from) ? 'accept' : 'unasked';
    if (header.kind === 'input' && peer !== epoch.placement.host) return 'unasked';
    const sender = epoch.executor.program.receives.find(({ id }) => id === header.transfer)?.from;
    if (header.kind === 'tensor' && sender !== from) return 'unasked';
    return epoch.executor.expects(header);
  }

  #receive(peer: string, frame: RunFrame): void {
    if (frame.kind === 'fileAsk' || frame.kind === 'file') {
      this.#files.receive(peer, frame);
      return;
    }
    const epoch = this.#epochs.get(frame.epoch);
    if (epoch === undefined) return;
    if (frame.kind === 'abort') {
      this.#aborted(peer, epoch, frame);
      return;
    }
    if (frame.kind === 'record') {
      if (peer === epoch.placement.host) epoch.executor.record(frame.run);
      return;
    }
    const tensor: Tensor = { dataType: frame.dataType, dims: frame.dims, data: frame.data };
    if (frame.kind === 'output') this.#collect(frame.run, frame.transfer, tensor);
    else if (frame.kind === 'recorded') {
      this.#records.put(frame.run, epoch.placement.devices.indexOf(peer), unpackRecord(tensor));
    } else epoch.executor.deliver(frame.kind, frame.run, frame.transfer, tensor);
  }

  #aborted(peer: string, epoch: Epoch, { run, reason }: AbortFrame): void {
    const hosted = this.#hosted.get(run);
    if (hosted === undefined) {
      this.#end(epoch, run);
      return;
    }
    // A device that cannot go on tells the host, and the host tells everybody.
    const code: ErrorCode = reason;
    this.#abort(
      run,
      reason,
      new StarlingError(code, `Device "${peer}" could not finish the run (${reason}).`),
    );
  }

  async #send(
    epoch: Epoch,
    to: number,
    kind: TensorHeader['kind'],
    run: number,
    transfer: number,
    tensor: Tensor,
  ): Promise<void> {
    const peer = epoch.placement.devices[to] ?? '';
    const link = this.#links.get(peer);
    if (link === undefined) throw notConnected(peer);
    const { dims, data } = tensor;
    const dataType = tensor.dataType as WireType;
    await link.send({ kind, epoch: epoch.placement.epoch, run, transfer, dataType, dims, data });
  }

  #sendResult(epoch: Epoch, run: number, result: Result, tensor: Tensor): Promise<void> {
    const host = epoch.placement.devices.indexOf(epoch.placement.host);
    if (!this.#isSelf(epoch, host)) return this.#send(epoch, host, 'output', run, result.id, tensor);
    this.#collect(run, result.id, { ...tensor, data: tensor.data.slice() }, true);
    return Promise.resolve();
  }

  #collect(runId: number, id: number, tensor: Tensor, own = false): void {
    const run = this.#hosted.get(runId);
    if (run === undefined) return;
    if (!own) {
      run.resultBytes += tensor.data.byteLength;
      this.#records.recorder(runId)?.arrived('output', id, tensor.data.byteLength);
    }
    run.collector.put(id, tensor);
    this.#finishIfComplete(runId, run);
  }

  #finishIfComplete(runId: number, run: HostedRun): void {
    if (!run.collector.complete) return;
    this.#hosted.delete(runId);
    run.cancelTimeout();
    const totalMs = this.#options.clock.now() - run.startedMs;
    const own = this.#end(run.epoch, runId);
    const result = {
      outputs: run.collector.outputs(),
      stats: {
        totalMs,
        computeMs: own.computeMs,
        waitMs: Math.max(0, totalMs - own.computeMs),
        sentBytes: own.sentBytes + run.feedBytes,
        receivedBytes: own.receivedBytes + run.resultBytes,
        rounds: run.epoch.room.rounds,
      },
    };
    const { room, placement } = run.epoch;
    const noted = this.#records.join(runId, run.startedMs, totalMs, { room, ...placement });
    noted.then(
      (timeline) => run.resolve(timeline === undefined ? result : { ...result, timeline }),
      run.reject,
    );
  }

  #startRecords({ executor, placement: { epoch, devices } }: Epoch, run: number): void {
    const recorder = executor.record(run);
    if (recorder === undefined) return;
    this.#records.start(run, devices.length, recorder);
    // A peer that cannot be told is gone, and its runs with it.
    for (const peer of devices) {
      this.#links
        .get(peer)
        ?.send({ kind: 'record', epoch, run })
        .catch(() => {});
    }
  }

  /** This device is done with a run that is recorded. */
  #recorded(epoch: Epoch, run: number, record: DeviceRecord): void {
    const host = epoch.placement.devices.indexOf(epoch.placement.host);
    if (this.#isSelf(epoch, host)) this.#records.put(run, host, record);
    // Nobody waits for it but the chart.
    else this.#send(epoch, host, 'recorded', run, 0, packRecord(record)).catch(() => {});
  }

  /** Something of a run failed here: the host hears of it, or if this is the host, everybody does. */
  #failed(epoch: Epoch, run: number, error: StarlingError): void {
    this.#options.onFailed?.(error);
    const reason: AbortReason = abortReasons.find((known) => known === error.code) ?? 'RUN_FAILED';
    if (this.#hosted.has(run)) this.#abort(run, reason, error);
    else {
      this.#end(epoch, run);
      this.#tell(epoch, epoch.placement.host, run, reason);
    }
  }

  /** What has come of frames that nobody waits for any more is freed; notes of the run may still arrive. */
  #end(epoch: Epoch, run: number): DeviceRunStats {
    const stats = epoch.executor.end(run);
    const isOver = (header: TensorHeader) =>
      header.epoch === epoch.placement.epoch && header.run === run && header.kind !== 'recorded';
    for (const link of this.#links.values()) link.discard(isOver);
    return stats;
  }

  #abort(runId: number, reason: AbortReason, error: StarlingError): void {
    const run = this.#hosted.get(runId);
    if (run === undefined) return;
    this.#hosted.delete(runId);
    run.cancelTimeout();
    this.#end(run.epoch, runId);
    this.#records.drop(runId);
    for (const peer of run.epoch.placement.devices) {
      if (peer !== this.#options.id) this.#tell(run.epoch, peer, runId, reason);
    }
    run.reject(error);
  }

  #tell(epoch: Epoch, peer: string, run: number, reason: AbortReason): void {
    // A peer that cannot be told is gone, and its runs with it.
    this.#links
      .get(peer)
      ?.send({ kind: 'abort', epoch: epoch.placement.epoch, run, reason })
      .catch(() => {});
  }

  #lost(peer: string, link: Link, reason: StarlingError): void {
    if (this.#links.get(peer) === link) this.#links.delete(peer);
    this.#files.lost(peer, reason);
    const needs = ({ devices, shards, host }: DevicePlacement) =>
      peer === host || (shards[devices.indexOf(peer)] ?? []).length > 0;
    this.#rejectWhere((run) => needs(run.epoch.placement), reason);
    for (const epoch of this.#epochs.values()) {
      if (needs(epoch.placement)) for (const run of epoch.executor.activeRuns) this.#end(epoch, run);
    }
    this.#options.onLost?.(peer, reason);
  }

  #rejectWhere(concerned: (run: HostedRun) => boolean, reason: StarlingError): void {
    for (const [id, run] of this.#hosted) {
      if (concerned(run)) this.#abort(id, 'PEER_LOST', reason);
    }
  }
}

function notConnected(peer: string): StarlingError {
  return new StarlingError('PEER_LOST', `Device "${peer}" is not connected.`);
}
