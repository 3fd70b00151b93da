import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../protocol/limits.ts';
import type { SignalPayload } from '../protocol/signaling.ts';
import { protocolVersion } from '../protocol/version.ts';
import { createSignalingServer, type SignalingServer, type SignalingServerOptions } from './server.ts';
import { RawMember } from './testing/rawMember.ts';

const attempt = '0'.repeat(32);
const candidate: SignalPayload = {
  kind: 'candidate',
  attempt,
  candidate: 'candidate:1',
  sdpMid: '0',
  sdpMLineIndex: 0,
};
const offer: SignalPayload = { kind: 'offer', attempt, sdp: 'v=0\r\n', mac: null };

let server: SignalingServer;
async function start(options: SignalingServerOptions = {}): Promise<string> {
  server = await createSignalingServer(options);
  return server.url;
}
afterEach(() => server.close());

describe('rooms', () => {
  it('tell a new member who is there, and the others of it', async () => {
    const iceServers = [{ urls: ['turn:turn.test:3478'], username: 'u', credential: 'c' }];
    const url = await start({ iceServers });
    const a = await RawMember.join(url, 'one');
    const b = await RawMember.open(url);
    b.send({ type: 'join', protocolVersion, room: 'one', ticket: randomBytes(32).toString('hex') });
    const joined = await b.next('joined');
    expect(joined).toMatchObject({ members: [a.id], iceServers, pingMs: limits.pingMs });
    expect(joined.id).toMatch(/^[0-9a-f]{32}$/);
    expect(await a.next('member-joined')).toEqual({ type: 'member-joined', id: joined.id });
  });

  it('relay what members send each other, in order, with the true sender', async () => {
    const url = await start();
    const [a, b, c] = [
      await RawMember.join(url, 'r'),
      await RawMember.join(url, 'r'),
      await RawMember.join(url, 'r'),
    ];
    a.send({ type: 'signal', to: b.id, payload: offer, from: c.id });
    a.send({ type: 'signal', to: b.id, payload: candidate });
    expect(await b.next('signal')).toEqual({ type: 'signal', from: a.id, payload: offer });
    expect(await b.next('signal')).toEqual({ type: 'signal', from: a.id, payload: candidate });
    await c.settled();
    expect(c.received.filter(({ type }) => type === 'signal')).toEqual([]);
  });

  it('relay nothing into another room, to nobody and to oneself', async () => {
    const url = await start();
    const [a, other] = [await RawMember.join(url, 'here'), await RawMember.join(url, 'there')];
    for (const to of [other.id, 'f'.repeat(32), a.id]) {
      a.send({ type: 'signal', to, payload: offer });
      expect(await a.next('error')).toMatchObject({ code: 'PEER_LOST' });
    }
    await other.settled();
    expect(other.received).toEqual([]);
  });

  it('tell apart who left and who was lost', async () => {
    const url = await start();
    const [a, b, c] = [
      await RawMember.join(url, 'r'),
      await RawMember.join(url, 'r'),
      await RawMember.join(url, 'r'),
    ];
    b.send({ type: 'leave' });
    expect(await a.next('member-left')).toEqual({ type: 'member-left', id: b.id, reason: 'left' });
    c.socket.terminate();
    expect(await a.next('member-left')).toEqual({ type: 'member-left', id: c.id, reason: 'lost' });
    b.send({ type: 'signal', to: a.id, payload: offer });
    expect(await b.next('error')).toMatchObject({ code: 'MESSAGE_INVALID' });
    b.send({ type: 'join', protocolVersion, room: 'r', ticket: '1'.repeat(64) });
    expect((await b.next('joined')).members).toEqual([a.id]);
  });

  it('know a ticket again, on another connection and another server, and nobody else by its id', async () => {
    const url = await start();
    const ticket = randomBytes(32).toString('hex');
    const a = await RawMember.join(url, 'r', ticket);
    const b = await RawMember.join(url, 'r');
    const again = await RawMember.join(url, 'r', ticket);
    expect(again.id).toBe(a.id);
    expect(await a.closed()).toBe(4009);
    await b.settled();
    expect(b.received).toEqual([]);
    b.send({ type: 'signal', to: a.id, payload: offer });
    expect(await again.next('signal')).toMatchObject({ from: b.id });
    expect((await RawMember.join(url, 'elsewhere', ticket)).id).not.toBe(a.id);
    await server.close();
    expect((await RawMember.join(await start(), 'r', ticket)).id).toBe(a.id);
  });

  it('have limits', async () => {
    const url = await start({ limits: { roomMembers: 2, rooms: 2 } });
    const join = async (room: string) => {
      const member = await RawMember.open(url);
      member.send({ type: 'join', protocolVersion, room, ticket: randomBytes(32).toString('hex') });
      await member.until(() => member.received.length > 0, 'an answer');
      const [answer] = member.received;
      return answer?.type === 'error' ? answer.code : answer?.type;
    };
    expect(await join('a')).toBe('joined');
    expect(await join('a')).toBe('joined');
    expect(await join('a')).toBe('ROOM_FULL');
    expect(await join('b')).toBe('joined');
    expect(await join('c')).toBe('ROOM_LIMIT');
    expect(await (await fetch(`${url}/healthz`)).json()).toMatchObject({
      status: 'ok',
      rooms: 2,
      members: 3,
    });
  });
});

describe('bad messages', () => {
  it('are each answered with a code, and the sender goes on', async () => {
    const url = await start();
    const a = await RawMember.join(url, 'r');
    const bad: [unknown, string][] = [
      ['', 'MESSAGE_INVALID'],
      ['{', 'MESSAGE_INVALID'],
      ['null', 'MESSAGE_INVALID'],
      [{ type: 'shout' }, 'MESSAGE_INVALID'],
      [{ type: 'signal', to: 'x', payload: offer }, 'MESSAGE_INVALID'],
      [{ type: 'signal', to: a.id, payload: { kind: 'offer' } }, 'MESSAGE_INVALID'],
      [{ type: 'join', protocolVersion, room: 'again', ticket: '2'.repeat(64) }, 'MESSAGE_INVALID'],
      [{ type: 'join', protocolVersion: 99 }, 'PROTOCOL_VERSION'],
      [{ type: 'join', protocolVersion, room: '../etc', ticket: '2'.repeat(64) }, 'ROOM_NAME_INVALID'],
      [`"${'x'.repeat(limits.signalingMessageBytes)}"`, 'MESSAGE_TOO_LARGE'],
    ];
    for (const [message, code] of bad) {
      a.send(message);
      expect(await a.next('error')).toMatchObject({ code });
    }
    a.socket.send(Buffer.from([1, 2, 3]));
    expect(await a.next('error')).toMatchObject({ code: 'MESSAGE_INVALID' });
    await a.settled();
  });

  it('that are far too long end their own connection only', async () => {
    const url = await start();
    const [a, b] = [await RawMember.join(url, 'r'), await RawMember.join(url, 'r')];
    a.send('x'.repeat(5 * limits.signalingMessageBytes));
    expect(await a.closed()).toBe(1009);
    expect(await b.next('member-left')).toMatchObject({ id: a.id, reason: 'lost' });
    await b.settled();
  });

  it('and a flood cost nobody else anything, and the flooder its connection', async () => {
    const url = await start();
    const [a, b, flooder] = [
      await RawMember.join(url, 'r'),
      await RawMember.join(url, 'r'),
      await RawMember.join(url, 'r'),
    ];
    const sdp = 'x'.repeat(10_000);
    const text = JSON.stringify({ type: 'signal', to: a.id, payload: { ...offer, sdp } });
    for (let count = 0; count < 2000; count++) flooder.send(text);
    const sentAt = performance.now();
    for (let count = 0; count < 20; count++) {
      b.send({ type: 'signal', to: a.id, payload: candidate });
      await a.until(
        () => a.received.some((message) => message.type === 'signal' && message.from === b.id),
        'a relayed message',
      );
      a.received.length = 0;
    }
    expect(performance.now() - sentAt).toBeLessThan(2000);
    expect(await flooder.closed()).toBe(4008);
    expect(flooder.received.filter((message) => message.type === 'error').length).toBeLessThanOrEqual(
      limits.signalingRefusalBurst + 2,
    );
    await b.next('member-left');
    await b.settled();
  });

  it('hold a member to its rate and forgive it later', async () => {
    let time = 0;
    const url = await start({ now: () => time, limits: { messagesPerSecond: 10, messageBurst: 5 } });
    const a = await RawMember.join(url, 'r');
    for (let count = 0; count < 5; count++) a.send({ type: 'ping' });
    expect(await a.next('error')).toMatchObject({ code: 'RATE_LIMITED' });
    expect(a.received.filter(({ type }) => type === 'pong')).toHaveLength(4);
    a.received.length = 0;
    time += 1000;
    await a.settled();
  });
});

describe('presence', () => {
  it('ends with silence, and a live browser is never silent', async () => {
    let time = 0;
    const url = await start({ now: () => time, limits: { presenceMs: 1000, pingMs: 20 } });
    const [a, b] = [await RawMember.join(url, 'r'), await RawMember.join(url, 'r')];
    // Both answer pings by themselves, as browsers do.
    const pings = new Promise<void>((resolve) => {
      let seen = 0;
      a.socket.on('ping', () => {
        seen += 1;
        if (seen === 5) resolve();
      });
    });
    const ticking = setInterval(() => {
      time += 200;
    }, 40);
    await pings;
    expect(a.closeCode).toBeNull();
    b.socket.pause();
    expect(await a.next('member-left')).toEqual({ type: 'member-left', id: b.id, reason: 'lost' });
    clearInterval(ticking);
    expect(a.closeCode).toBeNull();
  });

  it('ends for connections that join nothing', async () => {
    let time = 0;
    const url = await start({ now: () => time, limits: { presenceMs: 1000, pingMs: 10 } });
    const idle = await RawMember.open(url);
    time = 1500;
    expect(await idle.closed()).toBe(4010);
  });

  it('counts connections of one address', async () => {
    const url = await start({ limits: { connectionsPerAddress: 2 } });
    const kept = [await RawMember.join(url, 'r'), await RawMember.join(url, 'r')];
    const refused = await RawMember.open(url);
    expect(await refused.next('error')).toMatchObject({ code: 'RATE_LIMITED' });
    expect(await refused.closed()).toBe(4013);
    for (const member of kept) await member.settled();
  });
});

it('says that a port is taken', async () => {
  await start();
  await expect(createSignalingServer({ port: server.port })).rejects.toMatchObject({
    code: 'ADDRESS_UNAVAILABLE',
    message: expect.stringContaining(`Port ${server.port} is in use`),
  });
});
