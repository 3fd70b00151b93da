/**
 * One device of a room: its links to the others, and for each placement (epoch) the programs of the room and its own
 * executor. Both the Worker in a tab and the verifier in Node are made of it. It knows no browser and no plan files.
 */
import type { Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import { type AbortReason, abortReasons, type RunFrame, type TensorHeader } from '../protocol/frame.ts';
import type { MessageChannelLike } from './channel.ts';
import type {
  DeviceOptions,
  DevicePlacement,
  DevicePlan,
  DeviceRunOptions,
  DeviceRunResult,
} from './deviceApi.ts';
import { DeviceLinks } from './deviceLinks.ts';
import { Epoch } from './epoch.ts';
import type { Deliveries } from './executor.ts';
import { type FetchFileOptions, FileTransfer } from './fileTransfer.ts';
import { HostedRuns } from './hostedRuns.ts';
import { measureLink, probeFile } from './linkProbe.ts';
import type { LinkStats } from './linkStats.ts';
import { loadExecutor } from './loadExecutor.ts';
import type { Result, RoomProgram } from './lower/program.ts';
import type { LinkCost } from './predict/costModel.ts';
import type { Verdict } from './reassembly.ts';
import { RunRecords } from './runRecords.ts';
import { type DeviceRecord, packRecord, unpackRecord } from './timelineRecorder.ts';

export type * from './deviceApi.ts';

export class Device {
  readonly #options: DeviceOptions;
  readonly #links: DeviceLinks;
  readonly #epochs = new Map<number, Epoch>();
  readonly #hosted: HostedRuns;
  readonly #records: RunRecords;
  readonly #files: FileTransfer;

  constructor(options: DeviceOptions) {
    const { clock, readFile } = options;
    this.#options = options;
    this.#records = new RunRecords(clock);
    this.#hosted = new HostedRuns(options, this.#records);
    this.#links = new DeviceLinks({
      clock,
      accept: (peer, header) => this.#accept(peer, header),
      onFrame: (peer, frame) => this.#receive(peer, frame),
      onLost: (peer, reason) => this.#lost(peer, reason),
    });
    this.#files = new FileTransfer({
      clock,
      send: (peer, frame) => this.#links.send(peer, frame),
      read: async (sha256) => probeFile(sha256) ?? readFile?.(sha256),
    });
  }

  /** The devices that this one has a link to. */
  get peers(): readonly string[] {
    return this.#links.peers;
  }

  /** A file of a peer by its hash, checked; null where it has not got it. Rejects as FileTransfer.fetch does. */
  fetchFile(peer: string, sha256: string, options: FetchFileOptions): Promise<Uint8Array | null> {
    return this.#files.fetch(peer, sha256, options);
  }

  /** Resolves when both ends hear each other. Rejects PEER_UNREACHABLE or PROTOCOL_VERSION. */
  connect(peer: string, channel: MessageChannelLike): Promise<void> {
    return this.#links.connect(peer, channel);
  }

  disconnect(peer: string): void {
    this.#links.disconnect(peer);
  }

  linkStats(peer: string): LinkStats | undefined {
    return this.#links.stats(peer);
  }

  /** Round trip and bandwidth, measured now. Rejects PEER_LOST. */
  measureLink(peer: string): Promise<LinkCost> {
    return measureLink((sha256, options) => this.fetchFile(peer, sha256, options), this.#options.clock);
  }

  /** Of the newest placement, as measured while it was loaded; null where there is none. */
  get speed(): number | null {
    return this.#newest?.speed ?? null;
  }

  /** Lowers, builds the sessions and warms them up; the epochs before stay until `retire`. */
  async load(
    plan: DevicePlan,
    placement: DevicePlacement,
    onProgress?: (done: number, total: number) => void,
  ): Promise<RoomProgram> {
    const { id: self, backend, clock } = this.#options;
    const deliveries: Deliveries = {
      sendTransfer: (run, { id, to }, tensor) => epoch.send(to, 'tensor', run, id, tensor),
      sendResult: (run, result, tensor) => this.#sendResult(epoch, run, result, tensor),
      recorded: (run, record) => this.#recorded(epoch, run, record),
      failed: (run, error) => this.#failed(epoch, run, error),
    };
    const loaded = await loadExecutor(plan, placement, { self, backend, clock, deliveries, onProgress });
    const { openBatch } = plan;
    const { graph } = plan.model;
    const epoch: Epoch = new Epoch({ self, placement, graph, openBatch, ...loaded, links: this.#links });
    await this.#epochs.get(placement.epoch)?.executor.close();
    this.#epochs.set(placement.epoch, epoch);
    return loaded.room;
  }

  /** Gives back every epoch before this one; runs that are still on them are rejected. */
  async retire(before: number): Promise<void> {
    for (const [number, epoch] of this.#epochs) {
      if (number >= before) continue;
      this.#epochs.delete(number);
      this.#hosted.rejectWhere(
        ({ placement }) => placement.epoch === number,
        new StarlingError('RUN_ABORTED', 'The placement changed while the run was under way; run again.'),
      );
      await epoch.close();
    }
  }

  /**
   * One run over the room, hosted here, on the newest epoch that is loaded. Rejects INPUT_INVALID, NO_DEVICE,
   * RUN_TIMEOUT, RUN_ABORTED, PEER_LOST, or what a device reported.
   */
  run(
    runId: number,
    inputs: Readonly<Record<string, Tensor>>,
    options: DeviceRunOptions = {},
  ): Promise<DeviceRunResult> {
    const epoch = this.#newest;
    if (epoch === undefined)
      return Promise.reject(new StarlingError('NO_DEVICE', 'No plan is loaded; load one before running.'));
    return this.#hosted.start(epoch, runId, inputs, options);
  }

  abort(runId: number): void {
    this.#hosted.abort(runId, 'RUN_ABORTED', new StarlingError('RUN_ABORTED', 'The run was cancelled.'));
  }

  async close(): Promise<void> {
    this.#links.close();
    await this.retire(Number.POSITIVE_INFINITY);
  }

  get #newest(): Epoch | undefined {
    return this.#epochs.get(Math.max(...this.#epochs.keys()));
  }

  #accept(peer: string, header: TensorHeader): Verdict {
    if (header.kind === 'fileAsk' || header.kind === 'file') return this.#files.accept(peer, header);
    const epoch = this.#epochs.get(header.epoch);
    if (epoch === undefined) return 'stale';
    const from = epoch.placement.devices.indexOf(peer);
    if (header.kind === 'output') return this.#hosted.expects(header, epoch, from);
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
      if (this.#hosted.has(frame.run)) this.#hosted.abortedBy(peer, frame.run, frame.reason);
      else epoch.end(frame.run);
      return;
    }
    if (frame.kind === 'record') {
      if (peer === epoch.placement.host) epoch.executor.record(frame.run);
      return;
    }
    const tensor: Tensor = { dataType: frame.dataType, dims: frame.dims, data: frame.data };
    if (frame.kind === 'output') this.#hosted.collect(frame.run, frame.transfer, tensor);
    else if (frame.kind === 'recorded') {
      this.#records.put(frame.run, epoch.placement.devices.indexOf(peer), unpackRecord(tensor));
    } else epoch.executor.deliver(frame.kind, frame.run, frame.transfer, tensor);
  }

  #sendResult(epoch: Epoch, run: number, result: Result, tensor: Tensor): Promise<void> {
    if (!epoch.isSelf(epoch.host)) return epoch.send(epoch.host, 'output', run, result.id, tensor);
    this.#hosted.collect(run, result.id, { ...tensor, data: tensor.data.slice() }, true);
    return Promise.resolve();
  }

  /** This device is done with a run that is recorded. */
  #recorded(epoch: Epoch, run: number, record: DeviceRecord): void {
    if (epoch.isSelf(epoch.host)) this.#records.put(run, epoch.host, record);
    // Nobody waits for it but the chart.
    else epoch.send(epoch.host, 'recorded', run, 0, packRecord(record)).catch(() => {});
  }

  /** Something of a run failed here: the host hears of it, or if this is the host, everybody does. */
  #failed(epoch: Epoch, run: number, error: StarlingError): void {
    this.#options.onFailed?.(error);
    const reason: AbortReason = abortReasons.find((known) => known === error.code) ?? 'RUN_FAILED';
    if (this.#hosted.has(run)) this.#hosted.abort(run, reason, error);
    else {
      epoch.end(run);
      epoch.tellAbort(epoch.placement.host, run, reason);
    }
  }

  #lost(peer: string, reason: StarlingError): void {
    this.#files.lost(peer, reason);
    this.#hosted.rejectWhere((epoch) => epoch.needs(peer), reason);
    for (const epoch of this.#epochs.values()) {
      if (epoch.needs(peer)) for (const run of epoch.executor.activeRuns) epoch.end(run);
    }
    this.#options.onLost?.(peer, reason);
  }
}
