/** A client for tests of the server: sends anything, keeps what comes. Not the page's client, which sends only what is right. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { parseServerMessage, type ServerMessage } from '../../protocol/signaling.ts';
import { protocolVersion } from '../../protocol/version.ts';

export class RawMember {
  readonly socket: WebSocket;
  readonly received: ServerMessage[] = [];
  id = '';
  closeCode: number | null = null;
  readonly #waiting = new Set<() => void>();

  private constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      this.received.push(parseServerMessage(data.toString()));
      for (const wake of this.#waiting) wake();
    });
    socket.on('close', (code) => {
      this.closeCode = code;
      for (const wake of this.#waiting) wake();
    });
    socket.on('error', () => {});
  }

  static async open(url: string): Promise<RawMember> {
    const member = new RawMember(new WebSocket(`${url.replace('http', 'ws')}/signaling`));
    await once(member.socket, 'open');
    return member;
  }

  static async join(url: string, room: string, ticket = randomBytes(32).toString('hex')): Promise<RawMember> {
    const member = await RawMember.open(url);
    member.send({ type: 'join', protocolVersion, room, ticket });
    const joined = await member.next('joined');
    member.id = joined.id;
    return member;
  }

  send(message: unknown): void {
    this.socket.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Takes the next message of that type out of what was received, waiting for it if need be. */
  async next<T extends ServerMessage['type']>(type: T): Promise<Extract<ServerMessage, { type: T }>> {
    await this.until(() => this.received.some((message) => message.type === type), `a message "${type}"`);
    const index = this.received.findIndex((message) => message.type === type);
    const [message] = this.received.splice(index, 1);
    return message as Extract<ServerMessage, { type: T }>;
  }

  async closed(): Promise<number> {
    await this.until(() => this.closeCode !== null, 'the end of the connection');
    return this.closeCode ?? 0;
  }

  /** Everything that was sent before this has been handled once it resolves. */
  async settled(): Promise<void> {
    this.send({ type: 'ping' });
    await this.next('pong');
  }

  until(condition: () => boolean, what: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const check = () => {
        if (!condition()) return;
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(check);
        reject(new Error(`${what} was expected within 5 s; received: ${JSON.stringify(this.received)}`));
      }, 5000);
      this.#waiting.add(check);
      check();
    });
  }
}
