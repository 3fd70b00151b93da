/**
 * Every message between a page and the signaling server, as JSON text over one WebSocket, and what the
 * server only relays (SignalPayload). Not what pages say to each other directly: control.ts.
 */
import * as v from 'valibot';
import { errorCodes, StarlingError } from './errors.ts';
import { limits } from './limits.ts';
import { parseJson, parseWith } from './parseJson.ts';
import { protocolVersion } from './version.ts';

const idSchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{32}$/, 'expected 32 hexadecimal digits'));
const keySchema = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, 'expected 64 hexadecimal digits'));
const sdpSchema = v.pipe(v.string(), v.maxLength(limits.signalingMessageBytes));

export const iceServerSchema = v.object({
  urls: v.pipe(
    v.array(v.pipe(v.string(), v.regex(/^(stuns?|turns?):\S+$/, 'expected a stun: or turn: address'))),
    v.minLength(1),
    v.maxLength(limits.iceServers),
  ),
  username: v.optional(v.pipe(v.string(), v.maxLength(512))),
  credential: v.optional(v.pipe(v.string(), v.maxLength(512))),
});
export type IceServer = v.InferOutput<typeof iceServerSchema>;

/**
 * What two members tell each other through the server. `attempt` names one connection: 128 bits of chance that
 * come with its offer and are repeated in the answer and with every candidate, so that what belongs to
 * another attempt is dropped. `mac` signs the DTLS fingerprints, and the attempt, where the room has a secret.
 */
const signalPayloadSchema = v.variant('kind', [
  v.object({
    kind: v.picklist(['offer', 'answer']),
    attempt: idSchema,
    sdp: sdpSchema,
    mac: v.nullable(keySchema),
  }),
  v.object({
    kind: v.literal('candidate'),
    attempt: idSchema,
    candidate: v.pipe(v.string(), v.maxLength(1024)),
    sdpMid: v.nullable(v.pipe(v.string(), v.maxLength(64))),
    sdpMLineIndex: v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(255))),
  }),
  /** `attempt` has come to nothing at the sender, and why. A connection that stands does not end by it. */
  v.object({
    kind: v.literal('ended'),
    attempt: idSchema,
    code: v.picklist(errorCodes),
    message: v.pipe(v.string(), v.maxLength(1000)),
  }),
]);
export type SignalPayload = v.InferOutput<typeof signalPayloadSchema>;
export type SignalDescription = Extract<SignalPayload, { sdp: string }>;

const clientMessageSchema = v.variant('type', [
  v.object({
    type: v.literal('join'),
    protocolVersion: v.literal(protocolVersion),
    room: v.string(),
    /**
     * 64 hexadecimal digits of chance, made once for each page and shown to nobody but the server, which
     * derives the member's id from them: a page that comes back is the same member, and no other can be it.
     */
    ticket: keySchema,
  }),
  v.object({ type: v.literal('signal'), to: idSchema, payload: signalPayloadSchema }),
  v.object({ type: v.literal('leave') }),
  v.object({ type: v.literal('ping') }),
]);
export type ClientMessage = v.InferOutput<typeof clientMessageSchema>;

/** `left` said so; `lost` was cut off or silent for `presenceMs`, and may still be reachable directly. */
const departureSchema = v.picklist(['left', 'lost']);
export type Departure = v.InferOutput<typeof departureSchema>;

const errorMessageSchema = v.object({
  type: v.literal('error'),
  code: v.picklist(errorCodes),
  message: v.pipe(v.string(), v.maxLength(1000)),
});

const serverMessageSchema = v.variant('type', [
  v.object({
    type: v.literal('joined'),
    /** Of this member. */
    id: idSchema,
    /** Ids of all others in the room. */
    members: v.pipe(v.array(idSchema), v.maxLength(1024)),
    iceServers: v.pipe(v.array(iceServerSchema), v.maxLength(limits.iceServers)),
    /** A client that sends nothing should ping this often. */
    pingMs: v.pipe(v.number(), v.integer(), v.minValue(10), v.maxValue(600_000)),
  }),
  v.object({ type: v.literal('member-joined'), id: idSchema }),
  v.object({ type: v.literal('member-left'), id: idSchema, reason: departureSchema }),
  v.object({ type: v.literal('signal'), from: idSchema, payload: signalPayloadSchema }),
  v.object({ type: v.literal('pong') }),
  errorMessageSchema,
]);
export type ServerMessage = v.InferOutput<typeof serverMessageSchema>;

/** Letters and digits of any script, with blanks, dots, underscores and hyphens between them. */
const roomName = /^[\p{L}\p{N}](?:[\p{L}\p{M}\p{N} ._-]*[\p{L}\p{M}\p{N}])?$/u;

/**
 * @returns the name in the one form (NFC) that all members of the room share
 * @throws StarlingError ROOM_NAME_INVALID
 */
export function parseRoomName(name: string): string {
  const normal = name.length > 4 * limits.roomNameLength ? name : name.normalize('NFC');
  if (normal.length <= limits.roomNameLength && roomName.test(normal)) return normal;
  throw new StarlingError(
    'ROOM_NAME_INVALID',
    `A room's name has 1 to ${limits.roomNameLength} letters or digits, with blanks, dots or hyphens between them, but "${normal.slice(0, limits.roomNameLength)}" came; choose another.`,
  );
}

/**
 * What a page sent to the server.
 * @throws StarlingError MESSAGE_TOO_LARGE, MESSAGE_INVALID, PROTOCOL_VERSION, ROOM_NAME_INVALID
 */
export function parseClientMessage(text: string, limitBytes: number = limits.signalingMessageBytes) {
  const value = parseJson(text, limitBytes);
  refuseOtherVersion(value, 'join', 'the signaling server');
  const message: ClientMessage = parseWith(clientMessageSchema, value, 'A message to the signaling server');
  return message.type === 'join' ? { ...message, room: parseRoomName(message.room) } : message;
}

/**
 * What the server sent to a page.
 * @throws StarlingError MESSAGE_TOO_LARGE, MESSAGE_INVALID
 */
export function parseServerMessage(text: string): ServerMessage {
  // A relayed message of the full size is wrapped once more on its way.
  const value = parseJson(text, 2 * limits.signalingMessageBytes);
  return parseWith(serverMessageSchema, value, 'A message of the signaling server');
}

/**
 * Says the version before the schema complains about something smaller.
 * @throws StarlingError PROTOCOL_VERSION
 */
export function refuseOtherVersion(value: unknown, type: string, who: string): void {
  if (typeof value !== 'object' || value === null || !('type' in value) || value.type !== type) return;
  const theirs = 'protocolVersion' in value ? value.protocolVersion : undefined;
  if (typeof theirs !== 'number' || theirs === protocolVersion) return;
  throw new StarlingError(
    'PROTOCOL_VERSION',
    `Version ${protocolVersion} of the protocol was expected by ${who}, but ${theirs} came; reload the page on every device.`,
  );
}
