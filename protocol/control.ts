/**
 * What the two ends of a connection between pages say, as JSON text on simple-peer's own channel: greeting,
 * heartbeat, farewell, and an envelope for the room's messages, whose content roomMessages.ts says. No tensors.
 */
import * as v from 'valibot';
import { errorCodes } from './errors.ts';
import { limits } from './limits.ts';
import { parseJson, parseWith } from './parseJson.ts';
import { refuseOtherVersion } from './signaling.ts';
import { protocolVersion } from './version.ts';

const deviceIdSchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, 'expected 32 hexadecimal digits'));
const countSchema = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const sentenceSchema = v.pipe(v.string(), v.maxLength(1000));

const capabilitiesSchema = v.object({
  /** For people: "Firefox on Android". */
  label: v.pipe(v.string(), v.maxLength(80)),
  backends: v.pipe(v.array(v.picklist(['wasm', 'webgpu'])), v.maxLength(2)),
  threads: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(1024)),
  /** Cross-origin isolated, so that WASM may use threads. */
  isolated: v.boolean(),
  /** Who reads the tensor channel: the Worker itself, or the page that forwards to it. */
  tensorChannel: v.picklist(['worker', 'page']),
});
export type Capabilities = v.InferOutput<typeof capabilitiesSchema>;

const controlMessageSchema = v.variant('type', [
  v.object({
    type: v.literal('hello'),
    protocolVersion: v.literal(protocolVersion),
    deviceId: deviceIdSchema,
    capabilities: capabilitiesSchema,
  }),
  v.object({ type: v.literal('heartbeat'), count: countSchema }),
  /** At once, with the count of the heartbeat: the sender reads the round-trip time from it. */
  v.object({ type: v.literal('heartbeat-echo'), count: countSchema }),
  v.object({ type: v.literal('bye'), reason: v.pipe(v.string(), v.maxLength(200)) }),
  /** What the rooms above say to each other (roomMessages.ts); opaque to the connection that carries it. */
  v.object({ type: v.literal('room'), message: v.unknown() }),
  v.object({ type: v.literal('error'), code: v.picklist(errorCodes), message: sentenceSchema }),
]);
export type ControlMessage = v.InferOutput<typeof controlMessageSchema>;

/**
 * What another page sent.
 * @throws StarlingError MESSAGE_TOO_LARGE, MESSAGE_INVALID, PROTOCOL_VERSION
 */
export function parseControlMessage(text: string): ControlMessage {
  const value = parseJson(text, limits.controlMessageBytes);
  refuseOtherVersion(value, 'hello', 'this page');
  return parseWith(controlMessageSchema, value, 'A message of another device');
}
