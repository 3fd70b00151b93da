/**
 * A room as callers see it: joins, shows who is there, loads plans, leaves. It joins signaling, mesh, Worker and
 * coordinator to each other; every decision is in the coordinator.
 */
import * as v from 'valibot';
import type { BackendInfo, BackendKind, WasmBase } from '../protocol/backendInfo.ts';
import type { CompileStep } from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';
import { heldPlanAddress } from '../protocol/heldPlan.ts';
import { limits } from '../protocol/limits.ts';
import { RoomMessage } from '../protocol/roomMessages.ts';
import type { CompileWishes } from '../workers/compileApi.ts';
import { systemClock } from './clock.ts';
import { Coordinator, type RunEvent } from './coordinator/coordinator.ts';
import { defaultWasmBase } from './defaultWasmBase.ts';
import { deviceName, isMobile } from './deviceName.ts';
import { type DeviceView, deviceViews } from './deviceView.ts';
import { Emitter } from './events.ts';
import { watchLifecycle } from './lifecycle.ts';
import { createMesh, type Mesh, type MeshEvent } from './peers/mesh.ts';
import { describePlan, planAddresses } from './planAddresses.ts';
import { Session } from './session.ts';
import { connectSignaling, type SignalingClient } from './signaling/signalingClient.ts';
import { type OpenModel, openModelFile } from './worker/compileWorker.ts';
import { type DeviceWorker, startDeviceWorker } from './worker/deviceWorker.ts';

export interface JoinOptions {
  /** Address of the signaling server: ws(s), or http(s) of the page it serves. */
  readonly signaling: string | URL;
  readonly room: string;
  /** Default: those of the signaling server, which may be none. */
  readonly iceServers?: readonly RTCIceServer[] | undefined;
  readonly iceTransportPolicy?: RTCIceTransportPolicy | undefined;
  /** Shared by all devices and unknown to the signaling server, which then need not be trusted. */
  readonly secret?: string | undefined;
  /** Default 'auto'. */
  readonly backend?: BackendKind | 'auto' | undefined;
  /** Threads of one inference; default: half the cores, at most 4. One where the page is not isolated. */
  readonly threads?: number | undefined;
  /** Directory with onnxruntime-web's files, where those that come with this library are not wanted. */
  readonly wasmBase?: string | URL | undefined;
  /** What the others see; default: browser and platform. */
  readonly name?: string | undefined;
  /** Ends the joining; a room that has been joined is left with `leave`. */
  readonly signal?: AbortSignal | undefined;
}

export type RoomEvent =
  /** Somebody joined, left, loaded, failed: the whole list, this device included. */
  | { readonly type: 'devices'; readonly devices: readonly DeviceView[] }
  | ({ readonly type: 'run' } & RunEvent)
  /** The signaling server is gone or back; devices that are connected stay so. */
  | { readonly type: 'signaling'; readonly state: 'open' | 'reconnecting'; readonly message: string }
  /** Something went wrong that ends no call: a device that could not be reached, a message that was refused. */
  | { readonly type: 'warning'; readonly error: StarlingError }
  /**
   * Nothing follows. A page that comes back out of the browser's back-forward cache joins again, and so may one whose
   * Worker has died (WORKER_DIED).
   */
  | { readonly type: 'left'; readonly reason: StarlingError };

/** What `load` takes: the address of a plan.json, or a plan that devices hold. */
export type PlanToLoad =
  | string
  | URL
  /** A plan's files by name, whose memory moves into the device; the others get theirs from this one. */
  | { readonly files: ReadonlyMap<string, Uint8Array> }
  /** A plan that another device of the room brought, by the `sha256` of its summary. */
  | { readonly sha256: string };

export interface LoadOptions {
  /** Calls the loading off: it rejects with RUN_ABORTED. */
  readonly signal?: AbortSignal | undefined;
  /** Of all devices together, 0 to 1. */
  readonly onProgress?: ((progress: number) => void) | undefined;
}

export interface LoadModelOptions extends Partial<Omit<CompileWishes, 'numShards'>> {
  /** Default: as many as the room has devices now. */
  readonly shards?: number | undefined;
  /** Ends compiling or loading: it rejects with RUN_ABORTED. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ModelProgress) => void) | undefined;
}

export type ModelProgress =
  | { readonly phase: 'read' }
  | { readonly phase: 'compile'; readonly step: CompileStep }
  /** Of all devices together, 0 to 1; sending the parts is part of it. */
  | { readonly phase: 'load'; readonly progress: number };

/**
 * Joins a room and starts this page's device.
 * Rejects SIGNALING_UNREACHABLE, ROOM_FULL, ROOM_LIMIT, ROOM_NAME_INVALID, PROTOCOL_VERSION, BACKEND_UNAVAILABLE,
 * WORKER_DIED, or the signal's reason.
 */
export async function joinRoom(options: JoinOptions): Promise<Room> {
  const { signal } = options;
  const joining = new AbortController();
  const abort = () => joining.abort(signal?.reason);
  signal?.throwIfAborted();
  signal?.addEventListener('abort', abort);
  let signaling: SignalingClient | null = null;
  let worker: DeviceWorker | null = null;
  try {
    const url = String(options.signaling);
    signaling = await connectSignaling({ url, room: options.room, signal: joining.signal });
    const death: { tell(error: StarlingError): void } = { tell: () => undefined };
    worker = startDeviceWorker((error) => death.tell(error));
    const wasmBase =
      options.wasmBase === undefined ? defaultWasmBase() : new URL(options.wasmBase, document.baseURI).href;
    const cores = globalThis.navigator.hardwareConcurrency || 1;
    const starting = worker.start({
      deviceId: signaling.id,
      backend: options.backend ?? 'auto',
      threads: options.threads ?? Math.max(1, Math.min(4, Math.ceil(cores / 2))),
      wasmBase,
    });
    const backend = await untilAborted(starting, joining.signal);
    return new Room(options, signaling, worker, wasmBase, backend, death);
  } catch (thrown) {
    worker?.close();
    signaling?.close();
    throw thrown;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

export class Room {
  readonly id: string;
  readonly name: string;
  /** `server`: whoever runs the signaling server could pose as a device. */
  readonly trust: 'secret' | 'server';
  readonly backend: BackendInfo;
  readonly #emitter = new Emitter<RoomEvent>();
  readonly #signaling: SignalingClient;
  readonly #worker: DeviceWorker;
  readonly #wasmBase: WasmBase;
  readonly #coordinator: Coordinator;
  readonly #mesh: Mesh;
  readonly #failures = new Map<string, string>();
  /** Of each other device, whether page and Worker are connected to it, by the channel that counts. */
  readonly #links = new Map<string, { channel: RTCDataChannel; tensors: boolean; control: boolean }>();
  readonly #endings: (() => void)[] = [];
  #shown = '';
  #notified = false;
  #left: StarlingError | null = null;

  /** @internal Use joinRoom. */
  constructor(
    options: JoinOptions,
    signaling: SignalingClient,
    worker: DeviceWorker,
    wasmBase: WasmBase,
    backend: BackendInfo,
    death: { tell(error: StarlingError): void },
  ) {
    const { userAgent } = navigator;
    const label = (options.name ?? deviceName(userAgent)).slice(0, 80);
    this.id = signaling.id;
    this.name = options.room;
    this.trust = options.secret === undefined || options.secret === '' ? 'server' : 'secret';
    this.backend = backend;
    this.#signaling = signaling;
    this.#worker = worker;
    this.#wasmBase = wasmBase;
    this.#coordinator = new Coordinator({
      self: signaling.id,
      device: worker,
      clock: systemClock,
      planAddresses: (plan) => planAddresses(plan, location.origin),
      describePlan: (url) => describePlan(url, location.origin, signaling.id),
      send: (to, message) => this.#mesh.send(to, message),
      onChange: () => this.#notify(),
      onRun: (event) => this.#emitter.emit({ type: 'run', ...event }),
    });
    this.#mesh = createMesh({
      signaling,
      capabilities: {
        label,
        backends: [backend.kind],
        threads: Math.max(1, backend.threads),
        isolated: globalThis.crossOriginIsolated === true,
        tensorChannel: worker.tensorChannel,
      },
      ...(options.iceServers === undefined ? {} : { iceServers: options.iceServers.map(withUrlList) }),
      ...(options.iceTransportPolicy === undefined ? {} : { iceTransportPolicy: options.iceTransportPolicy }),
      ...(options.secret === undefined ? {} : { secret: options.secret }),
      onTensorChannel: (deviceId, channel) => this.#giveChannel(deviceId, channel),
      onEvent: (event) => this.#onMeshEvent(event),
    });
    this.#coordinator.describe({ name: label, backend });
    death.tell = (error) => this.#end(error);
    // Events since the joining go to the first subscriber, offers among them: that must be the mesh, which
    // subscribes in the microtask before this one.
    queueMicrotask(() => {
      if (this.#left === null) this.#endings.push(this.#watchSignaling());
    });
    this.#endings.push(
      watchLifecycle(
        { document, window, mobile: isMobile(userAgent) },
        {
          onMayStop: (mayStop) => this.#coordinator.describe({ mayStop }),
          onLeave: () => this.#end(new StarlingError('RUN_ABORTED', 'The page was closed.')),
        },
      ),
    );
    // Round-trip times change without any event.
    const refresh = setInterval(() => this.#notify(), 2_000);
    this.#endings.push(() => clearInterval(refresh));
  }

  /** Every device of the room, this one included; those that hold shards first. */
  get devices(): readonly DeviceView[] {
    return deviceViews(this.id, this.#coordinator.state, this.#mesh.peers, this.#failures);
  }

  /** Listens to one type of events; returns what ends the subscription. */
  on<Type extends RoomEvent['type']>(
    type: Type,
    listener: (event: Extract<RoomEvent, { readonly type: Type }>) => void,
  ): () => void {
    return this.#emitter.on(type, listener);
  }

  /**
   * Makes a plan this page's own and loads it over all devices. An earlier session of this page is released.
   * Rejects PLAN_NOT_FOUND, PLAN_UNREADABLE, PLAN_VERSION, HASH_MISMATCH, SESSION_FAILED, RUN_ABORTED, WORKER_DIED.
   */
  async load(plan: PlanToLoad, options: LoadOptions = {}): Promise<Session> {
    const url = await this.#addressOf(plan);
    const { onProgress, signal } = options;
    const off =
      onProgress === undefined
        ? () => undefined
        : this.on('devices', ({ devices }) => onProgress(loadProgress(devices)));
    try {
      return new Session(this.#coordinator, await this.#coordinator.load(url, signal));
    } finally {
      off();
    }
  }

  /**
   * Compiles an ONNX model in a Worker of its own, gives the other devices their parts, and loads it over all of them.
   * Rejects as compileModel and `load` do; SHAPE_OPEN where `shapes` must say more.
   */
  async loadModel(
    model: Blob | Uint8Array<ArrayBuffer> | OpenModel,
    options: LoadModelOptions = {},
  ): Promise<Session> {
    const {
      shards,
      signal,
      onProgress = () => undefined,
      name = 'model',
      axis = 'channels',
      ...rest
    } = options;
    onProgress({ phase: 'read' });
    const opened = 'signature' in model ? model : await openModelFile(toBlob(model), signal);
    let files: ReadonlyMap<string, Uint8Array>;
    try {
      const numShards = shards ?? Math.min(limits.shards, this.devices.length);
      files = await opened.compile({ ...rest, name, axis, numShards }, this.#wasmBase, (step) =>
        onProgress({ phase: 'compile', step }),
      );
    } finally {
      opened.close();
    }
    return this.load(
      { files },
      { signal, onProgress: (progress) => onProgress({ phase: 'load', progress }) },
    );
  }

  /** Says goodbye and ends everything of this room on this page; pending calls reject with RUN_ABORTED. */
  async leave(): Promise<void> {
    this.#end(new StarlingError('RUN_ABORTED', 'This page has left the room.'));
  }

  /** The address under which the coordinator knows a plan; a plan of this page is held from then on. */
  async #addressOf(plan: PlanToLoad): Promise<string> {
    if (typeof plan === 'object' && 'sha256' in plan) return heldPlanAddress(plan.sha256);
    if (typeof plan === 'object' && 'files' in plan) return (await this.#worker.holdPlan(plan.files)) ?? '';
    // The Worker takes its calls in order; one that died says so at the next.
    this.#worker.holdPlan(null).catch(() => undefined);
    return new URL(plan, document.baseURI).href;
  }

  // --- connections -------------------------------------------------------------------------------------

  #giveChannel(deviceId: string, channel: RTCDataChannel): void {
    const link = { channel, tensors: false, control: false };
    this.#links.set(deviceId, link);
    this.#worker.connect(deviceId, channel).then(
      () => {
        link.tensors = true;
        this.#joinIfLinked(deviceId);
      },
      (thrown: unknown) => {
        if (this.#links.get(deviceId) !== link || this.#left !== null) return;
        this.#fail(deviceId, StarlingError.from(thrown, 'PEER_UNREACHABLE'));
      },
    );
  }

  #joinIfLinked(deviceId: string): void {
    const link = this.#links.get(deviceId);
    if (link === undefined || !link.tensors || !link.control || this.#left !== null) return;
    this.#failures.delete(deviceId);
    this.#coordinator.peerConnected(deviceId);
  }

  #onMeshEvent(event: MeshEvent): void {
    const { deviceId } = event;
    switch (event.type) {
      case 'peer-connecting':
        break;
      case 'peer-connected': {
        const link = this.#links.get(deviceId);
        if (link !== undefined) link.control = true;
        this.#joinIfLinked(deviceId);
        break;
      }
      case 'peer-left':
      case 'peer-lost':
        this.#failures.delete(deviceId);
        this.#unlink(deviceId);
        break;
      case 'peer-failed':
        this.#unlink(deviceId);
        this.#fail(deviceId, event.error);
        break;
      case 'message': {
        const parsed = v.safeParse(RoomMessage, event.message);
        if (parsed.success) this.#coordinator.receive(deviceId, parsed.output);
        else {
          const error = new StarlingError(
            'MESSAGE_INVALID',
            'A message of another device was not understood.',
          );
          this.#emitter.emit({ type: 'warning', error });
        }
      }
    }
    this.#notify();
  }

  #unlink(deviceId: string): void {
    this.#links.delete(deviceId);
    void this.#worker.disconnect(deviceId).catch(() => undefined);
    this.#coordinator.peerLost(deviceId);
  }

  #fail(deviceId: string, error: StarlingError): void {
    this.#failures.set(deviceId, `${error.code}: ${error.message}`);
    this.#emitter.emit({ type: 'warning', error });
    this.#notify();
  }

  // --- events ------------------------------------------------------------------------------------------

  #watchSignaling(): () => void {
    return this.#signaling.subscribe((event) => {
      if (event.type === 'reconnecting') {
        this.#emitter.emit({ type: 'signaling', state: 'reconnecting', message: event.error.message });
      } else if (event.type === 'reconnected') {
        this.#emitter.emit({ type: 'signaling', state: 'open', message: 'The signaling server is back.' });
      } else if (event.type === 'refused') {
        this.#emitter.emit({ type: 'warning', error: event.error });
      } else if (event.type === 'closed' && event.error !== null) this.#end(event.error);
    });
  }

  /** Once for all changes of one task, and only if there is something new to see. */
  #notify(): void {
    if (this.#notified || this.#left !== null) return;
    this.#notified = true;
    queueMicrotask(() => {
      this.#notified = false;
      if (this.#left !== null) return;
      const { devices } = this;
      const shown = JSON.stringify(devices);
      if (shown === this.#shown) return;
      this.#shown = shown;
      this.#emitter.emit({ type: 'devices', devices });
    });
  }

  #end(reason: StarlingError): void {
    if (this.#left !== null) return;
    this.#left = reason;
    for (const end of this.#endings) end();
    this.#coordinator.close(reason);
    this.#mesh.close();
    this.#signaling.close();
    this.#worker.close();
    this.#emitter.emit({ type: 'left', reason });
  }
}

function toBlob(model: Blob | Uint8Array<ArrayBuffer>): Blob {
  return model instanceof Blob ? model : new Blob([model]);
}

function loadProgress(devices: readonly DeviceView[]): number {
  const loading = devices.filter(({ shards }) => shards.length > 0);
  return loading.reduce((sum, { progress }) => sum + progress, 0) / Math.max(1, loading.length);
}

function withUrlList({ urls, username, credential }: RTCIceServer) {
  return {
    urls: typeof urls === 'string' ? [urls] : [...urls],
    ...(username === undefined ? {} : { username }),
    ...(credential === undefined ? {} : { credential }),
  };
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
