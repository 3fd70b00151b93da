import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseControlMessage } from './control.ts';
import { StarlingError } from './errors.ts';
import { limits } from './limits.ts';
import { parseClientMessage, parseRoomName, parseServerMessage } from './signaling.ts';
import { protocolVersion } from './version.ts';

const id = 'a'.repeat(32);
const other = 'b'.repeat(32);
const mac = 'c'.repeat(64);
const offer = { kind: 'offer', attempt: id, sdp: 'v=0', mac };
const capabilities = {
  label: 'here',
  backends: ['wasm'],
  threads: 1,
  isolated: false,
  tensorChannel: 'worker',
};
const messages = [
  { parse: parseClientMessage, message: { type: 'join', protocolVersion, room: 'attic', ticket: mac } },
  { parse: parseClientMessage, message: { type: 'signal', to: id, payload: offer } },
  { parse: parseClientMessage, message: { type: 'leave' } },
  { parse: parseClientMessage, message: { type: 'ping' } },
  {
    parse: parseServerMessage,
    message: { type: 'joined', id, members: [other], iceServers: [{ urls: ['stun:h:1'] }], pingMs: 10_000 },
  },
  { parse: parseServerMessage, message: { type: 'member-joined', id } },
  { parse: parseServerMessage, message: { type: 'member-left', id, reason: 'lost' } },
  { parse: parseServerMessage, message: { type: 'signal', from: id, payload: offer } },
  {
    parse: parseServerMessage,
    message: {
      type: 'signal',
      from: id,
      payload: { kind: 'ended', attempt: id, code: 'PEER_UNTRUSTED', message: 'm' },
    },
  },
  {
    parse: parseServerMessage,
    message: {
      type: 'signal',
      from: id,
      payload: { kind: 'candidate', attempt: id, candidate: 'candidate:1', sdpMid: '0', sdpMLineIndex: 0 },
    },
  },
  { parse: parseServerMessage, message: { type: 'pong' } },
  { parse: parseServerMessage, message: { type: 'error', code: 'ROOM_FULL', message: 'full' } },
  { parse: parseControlMessage, message: { type: 'hello', protocolVersion, deviceId: id, capabilities } },
  { parse: parseControlMessage, message: { type: 'heartbeat', count: 3 } },
  { parse: parseControlMessage, message: { type: 'heartbeat-echo', count: 3 } },
  { parse: parseControlMessage, message: { type: 'bye', reason: 'closed' } },
  { parse: parseControlMessage, message: { type: 'room', message: { type: 'status', any: [1, null] } } },
] as const;

/** The message with one value inside replaced. */
const mutation = fc.tuple(
  fc.constantFrom(...messages),
  fc.nat(),
  fc.oneof(fc.jsonValue(), fc.constantFrom('__proto__', -1, 1e99, {}, [], null)),
);

function mutate(message: object, at: number, value: unknown): unknown {
  const copy: unknown = structuredClone(message);
  const places: [Record<string, unknown>, string][] = [];
  const walk = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const key of Object.keys(part)) {
      const record = part as Record<string, unknown>;
      places.push([record, key]);
      walk(record[key]);
    }
  };
  walk(copy);
  const place = places[at % places.length];
  if (place !== undefined) place[0][place[1]] = value;
  return copy;
}

function isRefusal(parse: (text: string) => unknown, text: string): boolean {
  try {
    parse(text);
    return false;
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(StarlingError);
    return true;
  }
}

const refusal = (code: string) => expect.objectContaining({ name: 'StarlingError', code });

describe('the message schemas', () => {
  it.each(messages)('take $message.type as it is', ({ parse, message }) => {
    expect(parse(JSON.stringify(message))).toEqual(message);
  });

  it('throw nothing but a StarlingError at any JSON and any text', () => {
    const parsers = [parseClientMessage, parseServerMessage, parseControlMessage];
    fc.assert(
      fc.property(fc.constantFrom(...parsers), fc.oneof(fc.json(), fc.string()), (parse, text) => {
        expect(isRefusal(parse, text)).toBe(true);
      }),
    );
  });

  it('throw nothing but a StarlingError at messages that are almost right', () => {
    let refused = 0;
    fc.assert(
      fc.property(mutation, ([{ parse, message }, at, value]) => {
        if (isRefusal(parse, JSON.stringify(mutate(message, at, value)))) refused += 1;
      }),
      { numRuns: 1000 },
    );
    expect(refused).toBeGreaterThan(500);
  });

  it('refuse what is too long before they read it', () => {
    const long = JSON.stringify({ type: 'ping', more: 'x'.repeat(limits.signalingMessageBytes) });
    expect(() => parseClientMessage(long)).toThrow(refusal('MESSAGE_TOO_LARGE'));
    // Each of these letters is two bytes.
    const wide = JSON.stringify({ type: 'ping', more: 'ä'.repeat(limits.signalingMessageBytes / 2) });
    expect(wide.length).toBeLessThan(limits.signalingMessageBytes);
    expect(() => parseClientMessage(wide)).toThrow(refusal('MESSAGE_TOO_LARGE'));
  });

  it('survive very deep nesting', () => {
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`;
    expect(() => parseClientMessage(deep)).toThrow(refusal('MESSAGE_INVALID'));
    expect(() => parseControlMessage(`{"type":"bye","reason":${deep}}`)).toThrow(refusal('MESSAGE_INVALID'));
  });

  it('say that the version is another, whatever else the message holds', () => {
    const join = JSON.stringify({ type: 'join', protocolVersion: 99 });
    expect(() => parseClientMessage(join)).toThrow(refusal('PROTOCOL_VERSION'));
    const hello = JSON.stringify({ type: 'hello', protocolVersion: 99, new: true });
    expect(() => parseControlMessage(hello)).toThrow(refusal('PROTOCOL_VERSION'));
  });

  it('take only stun and turn addresses as ICE servers', () => {
    const joined = (urls: string[]) => JSON.stringify({ ...messages[4].message, iceServers: [{ urls }] });
    expect(() => parseServerMessage(joined(['turns:h:1?transport=tcp']))).not.toThrow();
    expect(() => parseServerMessage(joined(['http://h']))).toThrow(refusal('MESSAGE_INVALID'));
  });
});

describe('a room name', () => {
  it('is letters and digits of any script, in one normal form', () => {
    expect(parseRoomName('a')).toBe('a');
    expect(parseRoomName('Küche 2')).toBe('Küche 2'.normalize('NFC'));
    expect(parseRoomName('Ku\u0308che')).toBe('Küche'.normalize('NFC'));
    expect(parseRoomName('日本')).toBe('日本');
  });

  it.each(['', ' ', 'a ', '-a', 'a\nb', 'a\u202eb', 'a/b', '<b>', 'a'.repeat(65), 'x'.repeat(1e6)])(
    'is not %j',
    (name) => {
      expect(() => parseRoomName(name)).toThrow(refusal('ROOM_NAME_INVALID'));
    },
  );
});
