/**
 * What two pages of a room tell each other on the control channel, as schemas: the state of a device and
 * the placement that a host announces. Not the signaling messages, and never tensors.
 *
 * Both messages are states, not commands: the newest replaces the one before, so that a message which is
 * sent again, or a device that joins late, needs no case of its own.
 */
import * as v from 'valibot';
import { errorCodes } from './errors.ts';
import { limits } from './limits.ts';

export const DeviceId = v.pipe(v.string(), v.minLength(1), v.maxLength(limits.deviceIdLength));
const Text = v.pipe(v.string(), v.maxLength(limits.statusTextLength));
const Epoch = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Amount = v.pipe(v.number(), v.finite(), v.minValue(0));
const Fraction = v.pipe(v.number(), v.minValue(0), v.maxValue(1));

export const ErrorMessage = v.object({ code: v.picklist(errorCodes), message: Text });

const LoadState = v.object({
  /** The placement that this device follows, by its epoch and host. */
  epoch: Epoch,
  host: DeviceId,
  phase: v.picklist(['loading', 'ready', 'failed']),
  /** Part of the weights and sessions that is there, 0 to 1. */
  progress: Fraction,
  error: v.nullable(ErrorMessage),
  /** On its stages, relative to the reference device, and its wasm heap, once it is ready. */
  speed: v.optional(v.nullable(Amount), null),
  heapBytes: v.optional(v.nullable(Amount), null),
});

export const DeviceStatus = v.object({
  type: v.literal('status'),
  /** For people: browser and platform. */
  name: Text,
  backend: v.nullable(
    v.object({
      kind: v.picklist(['wasm', 'webgpu']),
      threads: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
      reason: Text,
    }),
  ),
  /** The device may be stopped at any moment (a phone's hidden tab): give it no shards. */
  mayStop: v.boolean(),
  /** Devices to which this one has an open tensor channel. */
  links: v.pipe(v.array(DeviceId), v.maxLength(limits.devices)),
  /** Of those links, what was measured: milliseconds there and back, bytes in a millisecond. */
  linkCosts: v.optional(
    v.pipe(
      v.array(v.object({ id: DeviceId, roundTripMs: Amount, bytesPerMs: v.pipe(Amount, v.minValue(1e-3)) })),
      v.maxLength(limits.devices),
    ),
    [],
  ),
  /** On a small model that every device is measured with, relative to the reference device. */
  speed: v.optional(v.nullable(v.pipe(Amount, v.minValue(1e-6))), null),
  /** It loads no shards that are predicted to need more. */
  memoryLimitBytes: v.optional(v.nullable(Amount), null),
  /** The greatest epoch it has heard of. */
  epoch: Epoch,
  load: v.nullable(LoadState),
  /** Its page has a session, so it can be host. */
  session: v.boolean(),
  /** It has runs waiting and asks the host to let it be host. */
  claiming: v.boolean(),
  /** It is host and has runs of its own to do first. */
  busy: v.boolean(),
});

const Sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));

/** Where the plan lies, and the hash of its plan.json. */
export const PlacedPlan = v.union([
  v.object({
    /** Absolute address of plan.json as the host reads it. */
    url: v.pipe(v.string(), v.maxLength(limits.urlLength)),
    /** The plan lies on the host page's own origin, so that other devices look on theirs first. */
    sameOrigin: v.boolean(),
    sha256: Sha256,
  }),
  /** The host has its files, and gives them over the tensor links. */
  v.object({ from: DeviceId, sha256: Sha256 }),
]);

export const Placement = v.pipe(
  v.object({
    type: v.literal('placement'),
    /** Rises with every change, whoever is host. */
    epoch: Epoch,
    host: DeviceId,
    plan: PlacedPlan,
    devices: v.pipe(v.array(DeviceId), v.minLength(1), v.maxLength(limits.devices)),
    shards: v.array(
      v.array(v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(limits.shards - 1))),
    ),
  }),
  v.check(({ devices, shards }) => devices.length === shards.length, 'one list of shards per device'),
);

export const RoomMessage = v.variant('type', [DeviceStatus, Placement]);

export type ErrorMessage = v.InferOutput<typeof ErrorMessage>;
export type LoadState = v.InferOutput<typeof LoadState>;
export type DeviceStatus = v.InferOutput<typeof DeviceStatus>;
export type Placement = v.InferOutput<typeof Placement>;
export type RoomMessage = v.InferOutput<typeof RoomMessage>;
