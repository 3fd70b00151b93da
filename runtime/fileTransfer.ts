/**
 * Files of a plan from one device to another, by their hash, over the links of the tensors. The receiver asks for one
 * piece after the other, a few at once, so that the sender keeps no state and neither queues more than those. What a
 * file is for, where it is kept and who is asked is the caller's.
 *
 * Question: uint8[44], the hash, then offset (u64) and length (u32), little-endian. Answer: the piece as uint8[bytes],
 * `transfer` the length of the whole file; both have the same `run`. A device without the file answers [0] of 0.
 */
import { StarlingError } from '../protocol/errors.ts';
import type { TensorFrame, TensorHeader } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import type { Clock } from './clock.ts';
import { checkHash } from './plan.ts';
import type { Verdict } from './reassembly.ts';

const hashBytes = 32;
const questionBytes = hashBytes + 12;
/** No placement has it, so that the end of one discards no piece. */
const epoch = 0xffff_ffff;

export interface FileTransferOptions {
  readonly clock: Clock;
  /** Rejects PEER_LOST. */
  readonly send: (peer: string, frame: TensorFrame) => Promise<void>;
  /** What this device gives to others; undefined for every other hash. */
  readonly read: (sha256: string) => Promise<Uint8Array | undefined>;
}

export interface FetchFileOptions {
  /** For messages. */
  readonly path: string;
  /** A longer file is refused before memory is taken for it. */
  readonly maxBytes: number;
  readonly onBytes?: (loadedBytes: number) => void;
}

interface Piece {
  readonly totalBytes: number;
  readonly data: Uint8Array;
}

interface Asked {
  readonly peer: string;
  readonly length: number;
  settle(outcome: Piece | StarlingError): void;
}

export class FileTransfer {
  readonly #options: FileTransferOptions;
  readonly #asked = new Map<number, Asked>();
  /** Questions of each peer that are being answered. */
  readonly #serving = new Map<string, number>();
  /** The end of the last file of each peer; never rejects. */
  readonly #lastFile = new Map<string, Promise<unknown>>();
  #nextId = 1;

  constructor(options: FileTransferOptions) {
    this.#options = options;
  }

  /** Questions that wait for an answer. */
  get asked(): number {
    return this.#asked.size;
  }

  /** Before memory is taken for a frame: whether it is an answer that is waited for, or a question that may be asked. */
  accept(peer: string, { kind, run, dataType, dims }: TensorHeader): Verdict {
    const [length = 0] = dims;
    if (dataType !== 'uint8' || dims.length !== 1) return 'unasked';
    if (kind === 'fileAsk') {
      const room = (this.#serving.get(peer) ?? 0) < limits.filePiecesServed;
      return room && length === questionBytes ? 'accept' : 'unasked';
    }
    const asked = this.#asked.get(run);
    return asked !== undefined && asked.peer === peer && length <= asked.length ? 'accept' : 'unasked';
  }

  receive(peer: string, frame: TensorFrame): void {
    if (frame.kind === 'fileAsk') void this.#serve(peer, frame);
    else this.#asked.get(frame.run)?.settle({ totalBytes: frame.transfer, data: frame.data });
  }

  lost(peer: string, reason: StarlingError): void {
    this.#serving.delete(peer);
    for (const asked of [...this.#asked.values()]) if (asked.peer === peer) asked.settle(reason);
  }

  /**
   * A file by its hash, checked; null where the peer has not got it. A peer is asked for one file after the other:
   * it answers so many questions at once only.
   * Rejects PEER_LOST, MESSAGE_TOO_LARGE, MESSAGE_INVALID or HASH_MISMATCH.
   */
  fetch(peer: string, sha256: string, options: FetchFileOptions): Promise<Uint8Array | null> {
    const before = this.#lastFile.get(peer) ?? Promise.resolve();
    const file = before.then(() => this.#fetch(peer, sha256, options));
    const end = file.catch(() => undefined);
    this.#lastFile.set(peer, end);
    void end.then(() => {
      if (this.#lastFile.get(peer) === end) this.#lastFile.delete(peer);
    });
    return file;
  }

  async #fetch(
    peer: string,
    sha256: string,
    { path, maxBytes, onBytes }: FetchFileOptions,
  ): Promise<Uint8Array | null> {
    const first = await this.#ask(peer, sha256, 0, limits.filePieceBytes);
    const { totalBytes } = first;
    if (totalBytes === 0) return null;
    if (totalBytes > maxBytes) {
      throw new StarlingError(
        'MESSAGE_TOO_LARGE',
        `Device "${peer}" says that file "${path}" of the plan has ${totalBytes} bytes; at most ${maxBytes} are expected.`,
      );
    }
    const bytes = new Uint8Array(totalBytes);
    let loaded = 0;
    let next = 0;
    let failed = false;
    const put = (offset: number, piece: Piece) => {
      if (piece.totalBytes !== totalBytes || piece.data.byteLength !== pieceLength(offset, totalBytes)) {
        throw new StarlingError(
          'MESSAGE_INVALID',
          `Device "${peer}" sent a piece of file "${path}" that was not asked for.`,
        );
      }
      bytes.set(piece.data, offset);
      loaded += piece.data.byteLength;
      onBytes?.(loaded);
    };
    put(0, first);
    next = first.data.byteLength;
    const inTurn = async () => {
      while (next < totalBytes && !failed) {
        const offset = next;
        const length = pieceLength(offset, totalBytes);
        next += length;
        try {
          put(offset, await this.#ask(peer, sha256, offset, length));
        } catch (thrown) {
          failed = true;
          throw thrown;
        }
      }
    };
    await Promise.all(Array.from({ length: limits.filePieces }, inTurn));
    checkHash(path, bytes, sha256);
    return bytes;
  }

  #ask(peer: string, sha256: string, offset: number, length: number): Promise<Piece> {
    const id = this.#nextId;
    this.#nextId = (this.#nextId + 1) >>> 0;
    return new Promise((resolve, reject) => {
      const ms = limits.filePieceMs;
      const cancel = this.#options.clock.after(ms, () =>
        asked.settle(
          new StarlingError('PEER_LOST', `Device "${peer}" has sent nothing of a file for ${ms / 1000} s.`),
        ),
      );
      const asked: Asked = {
        peer,
        length,
        settle: (outcome) => {
          if (!this.#asked.delete(id)) return;
          cancel();
          if (outcome instanceof StarlingError) reject(outcome);
          else resolve(outcome);
        },
      };
      this.#asked.set(id, asked);
      this.#options
        .send(peer, frameOf('fileAsk', id, 0, writeQuestion(sha256, offset, length)))
        .catch((thrown: unknown) => asked.settle(StarlingError.from(thrown, 'PEER_LOST')));
    });
  }

  async #serve(peer: string, { run, data }: TensorFrame): Promise<void> {
    this.#serving.set(peer, (this.#serving.get(peer) ?? 0) + 1);
    try {
      const { sha256, offset, length } = readQuestion(data);
      const file = (await this.#options.read(sha256)) ?? new Uint8Array(0);
      const end = offset + Math.min(length, limits.filePieceBytes);
      await this.#options.send(peer, frameOf('file', run, file.byteLength, file.subarray(offset, end)));
    } catch {
      // Who asked is gone, or hears nothing and asks somebody else.
    } finally {
      const serving = this.#serving.get(peer);
      if (serving !== undefined) this.#serving.set(peer, Math.max(0, serving - 1));
    }
  }
}

function frameOf(kind: 'fileAsk' | 'file', run: number, transfer: number, data: Uint8Array): TensorFrame {
  return { kind, epoch, run, transfer, dataType: 'uint8', dims: [data.byteLength], data };
}

function pieceLength(offset: number, totalBytes: number): number {
  return Math.min(limits.filePieceBytes, totalBytes - offset);
}

function writeQuestion(sha256: string, offset: number, length: number): Uint8Array {
  const data = new Uint8Array(questionBytes);
  for (let i = 0; i < hashBytes; i++) data[i] = Number.parseInt(sha256.slice(2 * i, 2 * i + 2), 16);
  const view = new DataView(data.buffer);
  view.setBigUint64(hashBytes, BigInt(offset), true);
  view.setUint32(hashBytes + 8, length, true);
  return data;
}

function readQuestion(data: Uint8Array): { sha256: string; offset: number; length: number } {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  return {
    sha256: Array.from(data.subarray(0, hashBytes), (byte) => byte.toString(16).padStart(2, '0')).join(''),
    offset: Number(view.getBigUint64(hashBytes, true)),
    length: view.getUint32(hashBytes + 8, true),
  };
}
