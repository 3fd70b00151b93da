/** What a room is joined with, what it loads and what it tells its page. Types only; the room itself is room.ts. */
import type { BackendKind } from '../protocol/backendInfo.ts';
import type { CompileStep } from '../protocol/compileChoices.ts';
import type { StarlingError } from '../protocol/errors.ts';
import type { CompileWishes } from '../workers/compileApi.ts';
import type { PlacementChoice } from './choosePlacement.ts';
import type { RunEvent } from './coordinator/coordinator.ts';
import type { DeviceChoice } from './coordinator/placer.ts';
import type { DeviceView } from './deviceView.ts';
import type { ScalerWishes } from './instances/scaledRuns.ts';

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
  /** Which devices a plan runs on; default `best`, see Session.useDevices. */
  readonly devices?: DeviceChoice | undefined;
  /** This device loads no shards, and no further instance, with which its wasm heaps are predicted to need more. */
  readonly memoryLimitBytes?: number | undefined;
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
  /** This page has decided which devices hold which shards, by what was measured, and why. */
  | ({ readonly type: 'placement' } & PlacementChoice)
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

/** With `slo`, many runs at once are batched and spread over several copies of the network, to keep that objective. */
export interface LoadOptions extends Partial<ScalerWishes> {
  /** Calls the loading off: it rejects with RUN_ABORTED. */
  readonly signal?: AbortSignal | undefined;
  /** Of all devices together, 0 to 1. */
  readonly onProgress?: ((progress: number) => void) | undefined;
}

export interface LoadModelOptions extends Partial<Omit<CompileWishes, 'numShards'>> {
  /** Default: as many as the room has devices now. */
  readonly shards?: number | undefined;
  /** Files in which the model may keep weights, by name, or by path where it names folders. */
  readonly dataFiles?: ReadonlyMap<string, Blob> | undefined;
  /** Ends compiling or loading: it rejects with RUN_ABORTED. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: ModelProgress) => void) | undefined;
}

export type ModelProgress =
  | { readonly phase: 'read' }
  | { readonly phase: 'compile'; readonly step: CompileStep }
  /** Of all devices together, 0 to 1; sending the parts is part of it. */
  | { readonly phase: 'load'; readonly progress: number };
