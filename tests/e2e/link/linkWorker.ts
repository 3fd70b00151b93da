/** Runs in a Worker of the link tests: one link and one bare data channel to the other tab, and the exchanges over both. */
import { expose } from 'comlink';
import { StarlingError } from '../../../protocol/errors.ts';
import type { TensorFrame } from '../../../protocol/frame.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { forwardedChannel } from '../../../runtime/forwardedChannel.ts';
import { createLink, type Link, type LinkOptions } from '../../../runtime/link.ts';
import type { LinkStats } from '../../../runtime/linkStats.ts';

/** Bytes that tell which tensor they belong to, and where in it. */
function pattern(transfer: number, bytes: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(bytes / 4));
  let word = transfer + 1;
  for (let i = 0; i < words.length; i++) {
    word = (Math.imul(word, 1664525) + 1013904223) >>> 0;
    words[i] = word;
  }
  return new Uint8Array(words.buffer, 0, bytes);
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.byteLength === b.byteLength && a.every((byte, i) => byte === b[i]);
}

let link: Link | null = null;
let bare: RTCDataChannel | null = null;
let endOfLink: string | null = null;
const arrived: TensorFrame[] = [];
/** Called at every arrival. */
let wake = () => {};

async function until(done: () => boolean): Promise<void> {
  while (!done()) {
    if (endOfLink !== null) throw new Error(endOfLink);
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
}

function tensor(transfer: number, data: Uint8Array): TensorFrame {
  return { kind: 'tensor', epoch: 1, run: 1, transfer, dataType: 'uint8', dims: [data.byteLength], data };
}

function needLink(): Link {
  if (link === null) throw new Error('Not connected.');
  return link;
}

/** Both ends send, then wait for the other's: milliseconds of each exchange. */
async function timed(count: number, send: () => void, arrivedAll: (n: number) => boolean): Promise<number[]> {
  const times: number[] = [];
  for (let n = 1; n <= count; n++) {
    const start = performance.now();
    send();
    await until(() => arrivedAll(n));
    times.push(performance.now() - start);
  }
  return times;
}

/** Marks frames of `exchangeLink`, which are counted and not compared. */
const exchangeRun = 2;
let exchanged = 0;
let bareBytes = 0;
/** What the exchanges so far have brought; the other end may be ahead by one, so arrivals are no starting point. */
let exchangedBefore = 0;
let bareBytesBefore = 0;

const api = {
  connect(
    tensors: RTCDataChannel | MessagePort,
    plain: RTCDataChannel | null,
    options: Pick<LinkOptions, 'chunkBytes' | 'lostMs'>,
  ): void {
    link = createLink({
      channel: tensors instanceof MessagePort ? forwardedChannel(tensors) : tensors,
      clock: systemClock,
      accept: () => 'accept',
      onFrame: (frame) => {
        if (frame.kind === 'abort' || frame.kind === 'record') return;
        if (frame.run === exchangeRun) exchanged++;
        else arrived.push(frame);
        wake();
      },
      onClose: (reason) => {
        endOfLink = reason.code;
        wake();
      },
      ...options,
    });
    bare = plain;
    if (bare === null) return;
    bare.binaryType = 'arraybuffer';
    bare.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => {
      bareBytes += data.byteLength;
      wake();
    };
  },

  async opened(): Promise<void> {
    await needLink().opened;
    // Without a hello of its own, the bare channel is only safe once the link's greeting shows that both ends exist.
    const channel = bare;
    if (channel !== null && channel.readyState === 'connecting')
      await new Promise<void>((resolve) => {
        channel.onopen = () => resolve();
      });
  },

  /** Sends tensors `from`, `from + 1`, ... all at once; gives the codes of those that rejected. */
  async send(from: number, count: number, bytes: number): Promise<string[]> {
    const sent = Array.from({ length: count }, (_, i) =>
      needLink().send(tensor(from + i, pattern(from + i, bytes))),
    );
    const results = await Promise.allSettled(sent);
    return results.flatMap((result) =>
      result.status === 'fulfilled' ? [] : [StarlingError.from(result.reason, 'INTERNAL').code],
    );
  },

  /** The transfers that came, in order, each checked byte by byte. */
  async receive(count: number, bytes: number): Promise<number[]> {
    await until(() => arrived.length >= count);
    return arrived.splice(0, count).map(({ transfer, data }) => {
      if (!same(data, pattern(transfer, bytes))) throw new Error(`Transfer ${transfer} arrived changed.`);
      return transfer;
    });
  },

  async end(): Promise<string> {
    await until(() => false).catch(() => {});
    return endOfLink ?? '';
  },

  close(): void {
    needLink().close();
  },

  stats(): LinkStats {
    return needLink().stats();
  },

  exchangeLink(bytes: number, count: number): Promise<number[]> {
    const data = new Uint8Array(bytes);
    const start = exchangedBefore;
    exchangedBefore += count;
    let run = 0;
    return timed(
      count,
      () => {
        // Not awaited, as the executor does not: a lost peer shows in `until`.
        needLink()
          .send({ ...tensor(start + run++, data), run: exchangeRun })
          .catch(() => {});
      },
      (n) => exchanged >= start + n,
    );
  },

  /** The same bytes as they are, in messages of at most `chunkBytes`, joined by nobody. */
  exchangeBare(bytes: number, count: number, chunkBytes: number): Promise<number[]> {
    const data = new Uint8Array(bytes);
    const start = bareBytesBefore;
    bareBytesBefore += count * bytes;
    return timed(
      count,
      () => {
        for (let at = 0; at < bytes; at += chunkBytes) bare?.send(data.subarray(at, at + chunkBytes));
      },
      (n) => bareBytes >= start + n * bytes,
    );
  },
};

export type LinkWorkerApi = typeof api;

expose(api);
