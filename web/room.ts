/**
 * A room as callers see it: shows who is there, loads plans, leaves. It joins signaling, mesh, Worker and coordinator
 * to each other; every decision is in the coordinator.
 */
import type { BackendInfo, WasmBase } from '../protocol/backendInfo.ts';
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import type { PlacementChoice } from './choosePlacement.ts';
import { systemClock } from './clock.ts';
import { compileInWorker } from './compileModel.ts';
import { Coordinator } from './coordinator/coordinator.ts';
import { deviceName, isMobile } from './deviceName.ts';
import { type DeviceView, deviceViews, loadProgress } from './deviceView.ts';
import { Emitter } from './events.ts';
import { addressesOf } from './heldPlans.ts';
import { PageScaling } from './instances/pageScaling.ts';
import { watchLifecycle } from './lifecycle.ts';
import { meshOptionsOf } from './meshOptions.ts';
import { Notifier } from './notifier.ts';
import { PeerLinks } from './peerLinks.ts';
import { createMesh, type Mesh } from './peers/mesh.ts';
import { describePlan, planAddresses } from './planAddresses.ts';
import type { JoinOptions, LoadModelOptions, LoadOptions, PlanToLoad, RoomEvent } from './roomApi.ts';
import { Session } from './session.ts';
import type { SignalingClient, SignalingEvent } from './signaling/signalingClient.ts';
import type { OpenModel } from './worker/compileWorker.ts';
import type { DeviceWorker } from './worker/deviceWorker.ts';

export type * from './roomApi.ts';

export interface RoomParts {
  readonly options: JoinOptions;
  readonly signaling: SignalingClient;
  readonly worker: DeviceWorker;
  readonly wasmBase: WasmBase;
  readonly backend: BackendInfo;
  /** Given a listener for the Worker's death. */
  readonly death: { tell(error: StarlingError): void };
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
  readonly #links: PeerLinks;
  readonly #scaling: PageScaling;
  readonly #shown: Notifier<readonly DeviceView[]>;
  readonly #placed: Notifier<PlacementChoice | null>;
  readonly #endings: (() => void)[] = [];
  #left = false;

  /** @internal Use joinRoom. */
  constructor({ options, signaling, worker, wasmBase, backend, death }: RoomParts) {
    const { secret } = options;
    const { userAgent } = navigator;
    const label = (options.name ?? deviceName(userAgent)).slice(0, 80);
    this.id = signaling.id;
    this.name = options.room;
    this.trust = secret === undefined || secret === '' ? 'server' : 'secret';
    this.backend = backend;
    this.#signaling = signaling;
    this.#worker = worker;
    this.#wasmBase = wasmBase;
    this.#shown = new Notifier({
      read: () => this.devices,
      tell: (devices) => this.#emitter.emit({ type: 'devices', devices }),
    });
    this.#placed = new Notifier({
      read: () => this.placement,
      tell: (choice) => {
        if (choice !== null) this.#emitter.emit({ type: 'placement', ...choice });
      },
    });
    const notify = () => {
      this.#placed.notify();
      this.#shown.notify();
      this.#scaling?.devicesChanged();
    };
    this.#coordinator = new Coordinator({
      self: signaling.id,
      device: worker,
      clock: systemClock,
      devices: options.devices ?? 'best',
      planAddresses: (plan) => planAddresses(plan, location.origin),
      describePlan: (url) => describePlan(url, location.origin, signaling.id),
      send: (to, message) => this.#mesh.send(to, message),
      onChange: notify,
      onRun: (event) => this.#emitter.emit({ type: 'run', ...event }),
    });
    this.#scaling = new PageScaling({
      self: signaling.id,
      backend,
      wasmBase,
      device: worker,
      coordinator: this.#coordinator,
      memoryLimitBytes: options.memoryLimitBytes ?? null,
      mesh: () => this.#mesh,
    });
    this.#links = new PeerLinks({
      worker,
      onConnected: (deviceId) => this.#coordinator.peerConnected(deviceId),
      onLost: (deviceId) => {
        this.#coordinator.peerLost(deviceId);
        this.#scaling.instances.peerLost(deviceId);
      },
      onInstanceMessage: (deviceId, message) => this.#scaling.instances.receive(deviceId, message),
      onMessage: (deviceId, message) => this.#coordinator.receive(deviceId, message),
      onWarning: (error) => this.#emitter.emit({ type: 'warning', error }),
      onChange: notify,
    });
    this.#mesh = createMesh({
      signaling,
      ...meshOptionsOf(options, label, backend, worker),
      onTensorChannel: (deviceId, channel) => this.#links.giveChannel(deviceId, channel),
      onEvent: (event) => this.#links.take(event),
    });
    this.#coordinator.describe({ name: label, backend, memoryLimitBytes: options.memoryLimitBytes ?? null });
    worker.measureSpeed().then(
      (speed) => this.#coordinator.describe({ speed }),
      // It counts as fast as the reference until a plan measures it; a dead Worker is told elsewhere.
      () => undefined,
    );
    death.tell = (error) => this.#end(error);
    // Events since the joining go to the first subscriber, offers among them: that must be the mesh, which
    // subscribes in the microtask before this one.
    queueMicrotask(() => {
      if (!this.#left) this.#endings.push(signaling.subscribe((event) => this.#onSignaling(event)));
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
    const refresh = setInterval(notify, 2_000);
    this.#endings.push(() => clearInterval(refresh));
  }

  /** Every device of the room, this one included; those that hold shards first. */
  get devices(): readonly DeviceView[] {
    return deviceViews(this.id, this.#coordinator.state, this.#mesh.peers, this.#links.failures);
  }

  /**
   * Which devices hold which shards, as this page decided by measurement, and why; null while it has no plan of its
   * own, another page is host, or nothing was measured.
   */
  get placement(): PlacementChoice | null {
    return this.#coordinator.state.choice;
  }

  /** Listens to one type of events; returns what ends the subscription. */
  on<Type extends RoomEvent['type']>(
    type: Type,
    listener: (event: Extract<RoomEvent, { readonly type: Type }>) => void,
  ): () => void {
    return this.#emitter.on(type, listener);
  }

  /**
   * Makes a plan this page's own and loads it over the devices that are best for it. Of several plans of one model
   * (by channels, by rows, ...) the best for the room is taken, again whenever devices come or go. An earlier session
   * of this page is released. Rejects PLAN_NOT_FOUND, PLAN_UNREADABLE (also for plans of different models),
   * PLAN_VERSION, HASH_MISMATCH, MEMORY_LIMIT, SESSION_FAILED, RUN_ABORTED, WORKER_DIED.
   */
  async load(plan: PlanToLoad | readonly PlanToLoad[], options: LoadOptions = {}): Promise<Session> {
    const plans = Array.isArray(plan) ? (plan as readonly PlanToLoad[]) : [plan as PlanToLoad];
    const { onProgress = () => undefined, signal } = options;
    const urls = await addressesOf(plans, this.#worker, document.baseURI, signal);
    onProgress(0);
    const off = this.on('devices', ({ devices }) => {
      // Until they hear of this plan they report the one before, which they have whole.
      const progress = loadProgress(devices);
      if (progress < 1) onProgress(progress);
    });
    this.#scaling.release();
    try {
      const summary = await this.#coordinator.load(urls, signal);
      const url = this.#coordinator.planUrl ?? urls[0] ?? '';
      onProgress(1);
      return new Session(this.#coordinator, summary, this.#scaling.scale(url, summary, options));
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
    const files = await compileInWorker(
      model,
      Math.min(limits.shards, this.devices.length),
      this.#wasmBase,
      options,
    );
    const { signal, onProgress } = options;
    return this.load(
      { files },
      { signal, onProgress: (progress) => onProgress?.({ phase: 'load', progress }) },
    );
  }

  /** Says goodbye and ends everything of this room on this page; pending calls reject with RUN_ABORTED. */
  async leave(): Promise<void> {
    this.#end(new StarlingError('RUN_ABORTED', 'This page has left the room.'));
  }

  #onSignaling(event: SignalingEvent): void {
    if (event.type === 'reconnecting') {
      this.#emitter.emit({ type: 'signaling', state: 'reconnecting', message: event.error.message });
    } else if (event.type === 'reconnected') {
      this.#emitter.emit({ type: 'signaling', state: 'open', message: 'The signaling server is back.' });
    } else if (event.type === 'refused') {
      this.#emitter.emit({ type: 'warning', error: event.error });
    } else if (event.type === 'closed' && event.error !== null) this.#end(event.error);
  }

  #end(reason: StarlingError): void {
    if (this.#left) return;
    this.#left = true;
    for (const end of this.#endings) end();
    this.#shown.close();
    this.#placed.close();
    this.#links.close();
    this.#scaling.close(reason);
    this.#coordinator.close(reason);
    this.#mesh.close();
    this.#signaling.close();
    this.#worker.close();
    this.#emitter.emit({ type: 'left', reason });
  }
}
