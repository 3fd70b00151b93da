/**
 * The data plane of one tab: a Device on a backend, and the plan it runs. What each call means is in api.ts; this
 * file only joins the runtime to the browser.
 */
import { chooseBackend } from '../backends/chooseBackend.ts';
import { StarlingError } from '../protocol/errors.ts';
import { heldPlanHash } from '../protocol/heldPlan.ts';
import type { Backend } from '../runtime/backend.ts';
import type { MessageChannelLike } from '../runtime/channel.ts';
import { systemClock } from '../runtime/clock.ts';
import { Device } from '../runtime/device.ts';
import { forwardedChannel } from '../runtime/forwardedChannel.ts';
import { openPlan, type Plan } from '../runtime/plan.ts';
import type { LinkCost } from '../runtime/predict/costModel.ts';
import { measureSpeed } from '../runtime/predict/deviceSpeed.ts';
import { fileWeights } from '../runtime/weights/blob.ts';
import type {
  DeviceApi,
  ForecastQuestion,
  LoadProgress,
  LoadReport,
  PlacementMessage,
  PlanForecast,
  PlanSource,
  PlanSummary,
} from './api.ts';
import { checkMemory, predictedPeak } from './checkMemory.ts';
import { type PlanFiles, servedFiles } from './planFiles.ts';
import { PlanForecasts } from './planForecasts.ts';
import { planSummary } from './planSummary.ts';
import { RoomFiles } from './roomFiles.ts';

interface Started {
  readonly id: string;
  readonly backend: Backend;
  readonly device: Device;
  readonly memoryLimitBytes: number | null;
}

export class DeviceWorker implements DeviceApi {
  #started: Started | null = null;
  #plan: { readonly url: string; readonly files: PlanFiles; readonly plan: Plan } | null = null;
  #newestEpoch = -1;
  readonly #forecasts = new PlanForecasts(async (url) => {
    // A device whose server is gone may become host of what it has open.
    if (this.#plan?.url === url) return this.#plan.plan;
    const files = this.#filesOf(url);
    return openPlan((path) => files.read(path), heldPlanHash(url));
  });
  readonly #roomFiles = new RoomFiles({
    peers: () => this.#started?.device.peers ?? [],
    fetch: (peer, sha256, options) => this.#device().device.fetchFile(peer, sha256, options),
  });

  async alive(): Promise<void> {}

  async start(options: Parameters<DeviceApi['start']>[0]): ReturnType<DeviceApi['start']> {
    const { memoryLimitBytes = null } = options;
    const { backend, info } = await chooseBackend(options);
    const device = new Device({
      id: options.deviceId,
      backend,
      clock: systemClock,
      onFailed: dieOfTrap,
      readFile: (sha256) => this.#roomFiles.give(sha256),
    });
    this.#started = { id: options.deviceId, backend, device, memoryLimitBytes };
    return info;
  }

  async measureSpeed(): Promise<number | null> {
    const { backend } = this.#device();
    // A GPU compiles for seconds what a processor has done by then; loading a plan measures it.
    return backend.name === 'wasm' ? measureSpeed(backend, systemClock) : null;
  }

  measureLink(deviceId: string): Promise<LinkCost> {
    return this.#device().device.measureLink(deviceId);
  }

  forecast(question: ForecastQuestion): Promise<readonly PlanForecast[]> {
    return this.#forecasts.forecast(question);
  }

  async openPlan({ url, sha256, from }: PlanSource): Promise<PlanSummary> {
    const held = heldPlanHash(url);
    const files = this.#filesOf(url, from);
    const plan = await openPlan((path) => files.read(path), sha256 ?? held);
    // Whoever becomes host of such a plan must have all of it: the others ask for its files.
    if (held !== null && sha256 === null) await this.#roomFiles.gather(plan.file.weights);
    this.#plan = { url, files, plan };
    return planSummary(plan);
  }

  async predictHeap(placement: PlacementMessage): Promise<number> {
    const { id } = this.#device();
    return predictedPeak(this.#opened().plan, placement, id)?.heapBytes ?? 0;
  }

  async holdPlans(plans: readonly ReadonlyMap<string, Uint8Array>[]): Promise<readonly string[]> {
    return this.#roomFiles.hold(plans);
  }

  async load(placement: PlacementMessage, onProgress: (progress: LoadProgress) => void): Promise<LoadReport> {
    const { device, id, backend, memoryLimitBytes } = this.#device();
    const { files: source, plan } = this.#opened();
    checkMemory(plan, placement, id, memoryLimitBytes);
    const shards = placement.shards[placement.devices.indexOf(id)] ?? [];
    const wanted = plan.file.weights.map(
      ({ shard }) => shards.length > 0 && (shard === null || shards.includes(shard)),
    );
    const loaded = plan.file.weights.map(() => 0);
    const totalBytes = plan.file.weights.reduce(
      (sum, { bytes }, i) => sum + (wanted[i] === true ? bytes : 0),
      0,
    );
    const files = await Promise.all(
      plan.file.weights.map((file, i) => {
        if (wanted[i] !== true) return null;
        return source.weights(file, (bytes) => {
          loaded[i] = bytes;
          onProgress({ phase: 'fetch', loadedBytes: loaded.reduce((a, b) => a + b), totalBytes });
        });
      }),
    );
    const devicePlan = {
      model: plan.model,
      division: plan.division,
      openBatch: plan.file.maxBatch > 1,
      weights: fileWeights(plan, files),
    };
    await device.load(devicePlan, placement, (done, total) => onProgress({ phase: 'sessions', done, total }));
    // The epoch before stays until the next change: the room may still be running on it.
    await device.retire(this.#newestEpoch);
    this.#newestEpoch = placement.epoch;
    onProgress({ phase: 'ready' });
    return { speed: device.speed, heapBytes: backend.heapBytes?.() ?? null };
  }

  async connect(deviceId: string, channel: unknown): Promise<void> {
    const { device } = this.#device();
    await device.connect(deviceId, channelOf(channel));
  }

  async disconnect(deviceId: string): Promise<void> {
    this.#device().device.disconnect(deviceId);
  }

  run(...[runId, inputs, options]: Parameters<DeviceApi['run']>): ReturnType<DeviceApi['run']> {
    const result = this.#device().device.run(runId, inputs, options);
    // The page rejects what is pending when it hears of the death; a failed run would look like the picture's fault.
    return result.catch((thrown: unknown) =>
      isTrap(thrown) ? new Promise(() => {}) : Promise.reject(thrown),
    );
  }

  async abort(runId: number): Promise<void> {
    this.#started?.device.abort(runId);
  }

  async unload(): Promise<void> {
    this.#plan = null;
    this.#newestEpoch = -1;
    await this.#started?.device.retire(Number.POSITIVE_INFINITY);
  }

  #filesOf(url: string, from?: string): PlanFiles {
    const held = heldPlanHash(url);
    return held === null ? servedFiles(url) : this.#roomFiles.of(held, from);
  }

  #opened(): { readonly files: PlanFiles; readonly plan: Plan } {
    if (this.#plan !== null) return this.#plan;
    throw new StarlingError('PLAN_NOT_FOUND', 'No plan is open; open one before loading.');
  }

  #device(): Started {
    if (this.#started !== null) return this.#started;
    throw new StarlingError(
      'BACKEND_UNAVAILABLE',
      'The device was used before it was started; call start first.',
    );
  }
}

/** After a trap in the wasm code nothing in its heap can be relied on. */
function isTrap(thrown: unknown): thrown is StarlingError {
  return thrown instanceof StarlingError && thrown.cause instanceof WebAssembly.RuntimeError;
}

/** An error that nobody catches tells the page that this Worker is dead. */
function dieOfTrap(error: StarlingError): void {
  if (!isTrap(error)) return;
  setTimeout(() => {
    throw error.cause;
  });
}

/** A transferred data channel, or the port of one that stays on the page. */
function channelOf(channel: unknown): MessageChannelLike {
  if (channel instanceof MessagePort) return forwardedChannel(channel);
  return channel as MessageChannelLike;
}
