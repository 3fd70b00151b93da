import { createServer } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket as NodeWebSocket, WebSocketServer } from 'ws';
import {
  createSignalingServer,
  type SignalingServer,
  type SignalingServerOptions,
} from '../../signaling/server.ts';
import { signalingAddress } from './signalingAddress.ts';
import {
  connectSignaling,
  type SignalingClient,
  type SignalingEvent,
  type SignalingOptions,
} from './signalingClient.ts';

let server: SignalingServer;
const clients: SignalingClient[] = [];
const start = async (options: SignalingServerOptions = {}) => {
  server = await createSignalingServer(options);
};
afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
});

/** Node 20 has no WebSocket of its own; that of the ws package has the same shape. */
const createSocket = (address: string) => new NodeWebSocket(address) as unknown as WebSocket;

async function join(room: string, options: Partial<SignalingOptions> = {}): Promise<SignalingClient> {
  const client = await connectSignaling({ url: server.url, room, createSocket, ...options });
  clients.push(client);
  return client;
}

/** Events of a client, from now on, with a way to wait for one. */
function watch(client: SignalingClient) {
  const events: SignalingEvent[] = [];
  const waiting = new Set<() => void>();
  client.subscribe((event) => {
    events.push(event);
    for (const wake of waiting) wake();
  });
  const until = (type: SignalingEvent['type']) =>
    new Promise<SignalingEvent>((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`${type} within 8 s, got ${JSON.stringify(events)}`)),
        8000,
      );
      const check = () => {
        const index = events.findIndex((event) => event.type === type);
        if (index < 0) return;
        waiting.delete(check);
        clearTimeout(timer);
        resolve(events.splice(index, 1)[0] as SignalingEvent);
      };
      waiting.add(check);
      check();
    });
  return { events, until };
}

const payload = { kind: 'offer', attempt: '0'.repeat(32), sdp: 'v=0', mac: null } as const;

describe('a signaling client', () => {
  it('joins, sees others come and go, and passes signals', async () => {
    await start({ iceServers: [{ urls: ['stun:stun.test'] }] });
    const a = await join('r');
    const seen = watch(a);
    const b = await join('r');
    expect([...b.members]).toEqual([a.id]);
    expect(b.iceServers).toEqual([{ urls: ['stun:stun.test'] }]);
    expect(await seen.until('member-joined')).toEqual({ type: 'member-joined', id: b.id });
    expect([...a.members]).toEqual([b.id]);
    expect(b.send(a.id, payload)).toBe(true);
    expect(await seen.until('signal')).toEqual({ type: 'signal', from: b.id, payload });
    b.close();
    expect(await seen.until('member-left')).toEqual({ type: 'member-left', id: b.id, reason: 'left' });
    expect(a.members.size).toBe(0);
    expect(b.send(a.id, payload)).toBe(false);
  });

  it('keeps what happens before anybody listens', async () => {
    await start();
    const a = await join('r');
    const b = await join('r');
    b.send(a.id, payload);
    const other = watch(await join('r'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const seen = watch(a);
    expect(seen.events.map(({ type }) => type)).toEqual(['member-joined', 'signal', 'member-joined']);
    expect(other.events).toEqual([]);
  });

  it('comes back to a restarted server as the member it was, and hears what has changed', async () => {
    await start();
    const [a, b, c] = [await join('r'), await join('r'), await join('r')];
    const seen = watch(a);
    const [idA, idB, idC, { port }] = [a.id, b.id, c.id, server];
    await server.close();
    expect(await seen.until('reconnecting')).toMatchObject({ error: { code: 'SIGNALING_UNREACHABLE' } });
    expect(a.state).toBe('reconnecting');
    expect(a.send(idB, payload)).toBe(false);
    c.close();
    await start({ port });
    await seen.until('reconnected');
    const d = await join('r');
    await expect.poll(() => [...a.members].sort(), { timeout: 8000 }).toEqual([idB, d.id].sort());
    await expect.poll(() => [...d.members].sort(), { timeout: 8000 }).toEqual([idA, idB].sort());
    expect(a.id).toBe(idA);
    expect(seen.events).toContainEqual({ type: 'member-left', id: idC, reason: 'lost' });
    expect(a.send(idB, payload)).toBe(true);
  });

  it('tries again where the server is full, and gives up where it speaks another version', async () => {
    await start();
    const client = await join('r');
    const seen = watch(client);
    const { port } = server;
    await server.close();
    await seen.until('reconnecting');
    await start({ port, limits: { rooms: 0 } });
    let error: SignalingEvent;
    do error = await seen.until('reconnecting');
    while (!JSON.stringify(error).includes('ROOM_LIMIT'));
    await server.close();
    const newer = new WebSocketServer({ port, host: '127.0.0.1' });
    newer.on('connection', (socket) => {
      socket.send(JSON.stringify({ type: 'error', code: 'PROTOCOL_VERSION', message: 'Reload.' }));
    });
    expect(await seen.until('closed')).toMatchObject({
      error: { code: 'PROTOCOL_VERSION', message: 'Reload.' },
    });
    expect(client.state).toBe('closed');
    await new Promise((resolve) => newer.close(resolve));
  });

  it('notices a server that does not answer any more', async () => {
    await start({ limits: { pingMs: 50 } });
    let socket: NodeWebSocket | null = null;
    const a = await join('r', {
      createSocket: (address) => {
        socket = new NodeWebSocket(address);
        return socket as unknown as WebSocket;
      },
    });
    const seen = watch(a);
    await new Promise((resolve) => setTimeout(resolve, 400));
    expect(seen.events).toEqual([]);
    (socket as NodeWebSocket | null)?.pause();
    expect(await seen.until('reconnecting')).toMatchObject({
      error: { message: expect.stringContaining('does not answer any more') },
    });
    await seen.until('reconnected');
  });

  it('says in one sentence that nobody is there, that it is full, and that the name will not do', async () => {
    await start({ limits: { roomMembers: 1 } });
    await expect(join('r', { url: 'http://127.0.0.1:1' })).rejects.toMatchObject({
      code: 'SIGNALING_UNREACHABLE',
      message: expect.stringMatching(
        /^The signaling server at ws:\/\/127\.0\.0\.1:1\/signaling cannot be reached/,
      ),
    });
    await expect(join('r', { url: 'ftp://h' })).rejects.toMatchObject({ code: 'SIGNALING_UNREACHABLE' });
    await expect(join('r', { url: `${server.url.replace('http', 'ws')}/wrong` })).rejects.toMatchObject({
      code: 'SIGNALING_UNREACHABLE',
    });
    await expect(join('a/b')).rejects.toMatchObject({ code: 'ROOM_NAME_INVALID' });
    await join('r');
    await expect(join('r')).rejects.toMatchObject({ code: 'ROOM_FULL' });
  });

  it('ends with its signal, while joining and later', async () => {
    await start();
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const address = silent.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const reason = new Error('not wanted any more');
    const early = new AbortController();
    const joining = join('r', { url: `http://127.0.0.1:${port}`, signal: early.signal });
    setTimeout(() => early.abort(reason), 50);
    await expect(joining).rejects.toBe(reason);
    silent.close();
    await expect(join('r', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);

    const later = new AbortController();
    const a = watch(await join('r'));
    const b = await join('r', { signal: later.signal });
    later.abort();
    expect(b.state).toBe('closed');
    expect(await a.until('member-left')).toMatchObject({ id: b.id, reason: 'left' });
  });
});

describe('the address of a signaling server', () => {
  it.each([
    ['http://h:8080', undefined, 'ws://h:8080/signaling'],
    ['https://h/', undefined, 'wss://h/signaling'],
    ['https://h/app/index.html?x#room=a', undefined, 'wss://h/app/signaling'],
    ['https://h/signaling', undefined, 'wss://h/signaling'],
    ['wss://h/other?token=1', undefined, 'wss://h/other?token=1'],
    ['/', 'https://h:1/page/', 'wss://h:1/signaling'],
    ['', 'http://h:1/page.html', 'ws://h:1/signaling'],
  ])('%s at %s is %s', (url, base, expected) => {
    expect(signalingAddress(url, base)).toBe(expected);
  });

  it.each(['h:8080', 'nothing', 'javascript:alert(1)', ''])('is not %j', (url) => {
    expect(() => signalingAddress(url, undefined)).toThrow(
      expect.objectContaining({ code: 'SIGNALING_UNREACHABLE' }),
    );
  });
});
