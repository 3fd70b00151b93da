/**
 * What two pages tell each other about instances: further copies of a plan's stages in Workers of their own, made for
 * one page that has many runs. An instance is known by the device that asked for it, its host, and a number; it ends
 * with its host and with every device that takes part. Not the room's own placement (roomMessages.ts).
 */
import * as v from 'valibot';
import { limits } from './limits.ts';
import { DeviceId, ErrorMessage, PlacedPlan } from './roomMessages.ts';

const InstanceNumber = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const Shard = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(limits.shards - 1));

/** Its host asks a device to take part. */
export const OpenInstance = v.pipe(
  v.object({
    type: v.literal('instance'),
    number: InstanceNumber,
    plan: PlacedPlan,
    devices: v.pipe(v.array(DeviceId), v.minLength(1), v.maxLength(limits.devices)),
    shards: v.array(v.array(Shard)),
    threads: v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(64)),
  }),
  v.check(({ devices, shards }) => devices.length === shards.length, 'one list of shards per device'),
);

/** Its host does not need it any more. */
const CloseInstance = v.object({ type: v.literal('instance-closed'), number: InstanceNumber });

/** To the host: this device's part is ready, or cannot be, or is no more. */
const InstanceState = v.object({
  type: v.literal('instance-state'),
  number: InstanceNumber,
  error: v.nullable(ErrorMessage),
});

/** Of two devices of an instance the one with the smaller id says under which number their channel opens. */
const InstanceChannel = v.object({
  type: v.literal('instance-channel'),
  host: DeviceId,
  number: InstanceNumber,
  channel: v.pipe(
    v.number(),
    v.safeInteger(),
    v.minValue(limits.instanceChannelFirst),
    v.maxValue(limits.instanceChannelLast),
  ),
});

export const InstanceMessage = v.variant('type', [
  OpenInstance,
  CloseInstance,
  InstanceState,
  InstanceChannel,
]);

export type OpenInstance = v.InferOutput<typeof OpenInstance>;
export type InstanceMessage = v.InferOutput<typeof InstanceMessage>;
