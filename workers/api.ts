/**
 * What a page may ask of the data plane's Worker; both ends of the comlink boundary import these types.
 * The Worker owns the plan's weights, the sessions, the tensor channels and the runs; the page only steers.
 */
import type { Tensor } from '../graph/tensor.ts';
import type { BackendInfo, BackendKind, WasmBase } from '../protocol/backendInfo.ts';
import type { PlanMeasurement } from '../protocol/plan.ts';
import type { DeviceRunResult as RunResult } from '../runtime/deviceApi.ts';
import type { LinkCost } from '../runtime/predict/costModel.ts';
import type { Forecast, ForecastDevice } from '../runtime/predict/forecast.ts';

export type { DeviceRunResult as RunResult, RunStats } from '../runtime/deviceApi.ts';

export interface PlacementMessage {
  /** Rises with every change; frames of an older epoch are dropped. */
  readonly epoch: number;
  /** Device ids in the order that gives device 0, 1, ...; the same list on every device. */
  readonly devices: readonly string[];
  /** Shards held by each device of `devices`. */
  readonly shards: readonly (readonly number[])[];
  /** The device that feeds the inputs and collects the outputs. */
  readonly host: string;
}

export type LoadProgress =
  | { readonly phase: 'fetch'; readonly loadedBytes: number; readonly totalBytes: number }
  | { readonly phase: 'sessions'; readonly done: number; readonly total: number }
  | { readonly phase: 'ready' };

export interface PlanSource {
  /** Address of plan.json, or heldPlanAddress() for one that devices of the room hold. */
  readonly url: string;
  /** The device that is asked first for the files of such a plan. */
  readonly from?: string;
  /** SHA-256 (hex) of plan.json as the host read it; null on the host, which pins it for the others. */
  readonly sha256: string | null;
}

/** What a device found out while it loaded its shards. */
export interface LoadReport {
  /** On its stages, relative to the reference device; null where none could be timed. */
  readonly speed: number | null;
  /** Of its wasm heap; null where it cannot be known. */
  readonly heapBytes: number | null;
}

export interface ForecastQuestion {
  /** Of plans of one model. */
  readonly urls: readonly string[];
  /** The first is the host. */
  readonly devices: readonly ForecastDevice[];
  /** By device ids; links that are not listed cost what two tabs of one machine do. */
  readonly links: readonly { readonly from: string; readonly to: string; readonly cost: LinkCost }[];
}

export interface PlanForecast extends Forecast {
  readonly url: string;
  /** Of its plan.json. */
  readonly sha256: string;
  /** How the plan divides. */
  readonly axis: string;
}

/** Device id of this Worker is given once; all methods reject with a StarlingError's code and message. */
export interface DeviceApi {
  /** Nothing, as soon as the Worker has time: whoever waits for long knows that it is blocked. */
  alive(): Promise<void>;
  start(options: {
    readonly deviceId: string;
    readonly backend: BackendKind | 'auto';
    readonly threads: number;
    /** Directory (URL) that holds the runtime's .mjs and .wasm pair. */
    readonly wasmBase: WasmBase;
    /** Shards whose predicted heap is larger are not loaded; null for no limit. */
    readonly memoryLimitBytes?: number | null;
  }): Promise<BackendInfo>;
  /** Relative to the reference device, on a small model of ours; null where that would take long (a GPU compiles). */
  measureSpeed(): Promise<number | null>;
  /** Round trip and bandwidth to a connected device, measured now. Rejects PEER_LOST. */
  measureLink(deviceId: string): Promise<LinkCost>;
  /**
   * Runs of plans predicted for placements that are worth a look. Rejects as `openPlan` does, and PLAN_UNREADABLE for
   * plans of different models.
   */
  forecast(question: ForecastQuestion): Promise<readonly PlanForecast[]>;
  /** Fetches plan.json, checks its version and hash, returns what the page needs to show and to place. */
  openPlan(source: PlanSource): Promise<PlanSummary>;
  /**
   * Takes the files of plans (name -> bytes), checks them, and gives them to the room's devices from now on, in place
   * of those it held before. Resolves with the plans' addresses.
   */
  holdPlans(plans: readonly ReadonlyMap<string, Uint8Array>[]): Promise<readonly string[]>;
  /** Bytes of the wasm heap that this device's shards of the open plan are predicted to need; 0 without any. */
  predictHeap(placement: PlacementMessage): Promise<number>;
  /**
   * Lowers the open plan for a placement, fetches the weights of this device's shards (hash-checked,
   * cached), creates the sessions and warms them up. The old placement stays usable until this resolves.
   * Rejects MEMORY_LIMIT before anything is fetched.
   */
  load(placement: PlacementMessage, onProgress: (progress: LoadProgress) => void): Promise<LoadReport>;
  /** Takes a transferred RTCDataChannel (or a MessagePort that the page forwards) to another device. */
  connect(deviceId: string, channel: unknown): Promise<void>;
  disconnect(deviceId: string): Promise<void>;
  /** On the host only: feeds the inputs, waits for all outputs. Rejects RUN_TIMEOUT, PEER_LOST, RUN_ABORTED. */
  run(
    runId: number,
    inputs: Readonly<Record<string, Tensor>>,
    options?: { readonly timeline: boolean },
  ): Promise<RunResult>;
  /** Ends a run everywhere; its pending call rejects with RUN_ABORTED. */
  abort(runId: number): Promise<void>;
  unload(): Promise<void>;
}

export interface PlanSummary {
  readonly name: string;
  readonly sha256: string;
  /** Of the model it was compiled from. */
  readonly sourceSha256: string;
  readonly numShards: number;
  /** Most items along the first axis of every input; 1 where the model does not allow more. */
  readonly maxBatch: number;
  readonly inputs: readonly PlanValue[];
  readonly outputs: readonly PlanValue[];
  readonly weightBytes: number;
  readonly macs: number;
  /** Features that are sent over those of a dense exchange; 1 where nothing was thinned. */
  readonly keptRatio: number;
  /** Names of what the scores of the first output stand for; empty where the plan does not say. */
  readonly classes: readonly string[];
  /** On labelled data, where somebody measured it. */
  readonly measured: PlanMeasurement | null;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface PlanValue {
  readonly name: string;
  readonly dataType: Tensor['dataType'];
  readonly shape: readonly number[];
}
