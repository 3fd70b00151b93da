/**
 * Joins the parts of one peer's tensor frames. It holds a bounded number of bytes, allocates for a frame only what
 * the receiver has asked for, and gives each frame out at most once and only when every byte has come.
 */
import type { TensorFrame, TensorHeader, TensorPart } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import { RecentKeys } from './recentKeys.ts';

/** The receiver's answer to a frame it sees announced: wanted, of an epoch that is over, or not expected. */
export type Verdict = 'accept' | 'stale' | 'unasked';

export type PartDropped = Exclude<Verdict, 'accept'> | 'duplicate' | 'mismatch' | 'memory';

export type Reassembled =
  | { readonly state: 'whole'; readonly frame: TensorFrame }
  | { readonly state: 'waiting' }
  | { readonly state: 'dropped'; readonly reason: PartDropped };

export interface ReassemblyOptions {
  /** Called with the header alone, before anything is allocated; must check type and dims against what is expected. */
  readonly accept: (header: TensorHeader) => Verdict;
  /** Default limits.reassemblyBytes. */
  readonly maxBytes?: number;
}

interface Pending {
  readonly header: TensorHeader;
  readonly parts: number;
  /** Counted against the bound. */
  readonly cost: number;
  readonly data: Uint8Array<ArrayBuffer>;
  /** One bit per part. */
  readonly arrived: Uint8Array;
  missing: number;
}

/** What the bookkeeping of one frame costs besides its bytes, so that many small frames are bounded too. */
const pendingOverheadBytes = 256;

export class Reassembly {
  readonly #accept: (header: TensorHeader) => Verdict;
  readonly #maxBytes: number;
  readonly #pending = new Map<string, Pending>();
  readonly #finished = new RecentKeys(limits.finishedFrames);
  #bytes = 0;

  constructor(options: ReassemblyOptions) {
    this.#accept = options.accept;
    this.#maxBytes = options.maxBytes ?? limits.reassemblyBytes;
  }

  /** Bytes held for frames that are not whole yet. */
  get bytes(): number {
    return this.#bytes;
  }

  add(part: TensorPart): Reassembled {
    const key = keyOf(part);
    if (this.#finished.has(key)) return dropped('duplicate');
    let pending = this.#pending.get(key);
    if (pending === undefined) {
      const verdict = this.#accept(part);
      if (verdict !== 'accept') return dropped(verdict);
      if (part.parts === 1) {
        this.#finished.add(key);
        return { state: 'whole', frame: { ...headerOf(part), data: part.payload } };
      }
      const cost = costOf(part);
      if (this.#bytes + cost > this.#maxBytes) return dropped('memory');
      pending = {
        header: headerOf(part),
        parts: part.parts,
        cost,
        data: new Uint8Array(part.totalBytes),
        arrived: new Uint8Array(Math.ceil(part.parts / 8)),
        missing: part.parts,
      };
      this.#pending.set(key, pending);
      this.#bytes += cost;
    } else if (!sameFrame(pending, part)) {
      return dropped('mismatch');
    }

    const byte = part.part >> 3;
    const bit = 1 << (part.part & 7);
    const seen = pending.arrived[byte] ?? 0;
    if ((seen & bit) !== 0) return dropped('duplicate');
    pending.arrived[byte] = seen | bit;
    pending.data.set(part.payload, part.offset);
    pending.missing--;
    if (pending.missing > 0) return { state: 'waiting' };
    this.#forget(key, pending);
    this.#finished.add(key);
    return { state: 'whole', frame: { ...headerOf(part), data: pending.data } };
  }

  /** Frees what has come of the frames that nobody waits for any more (a run that ended, an old epoch). */
  discard(where: (header: TensorHeader) => boolean): void {
    for (const [key, pending] of this.#pending) if (where(pending.header)) this.#forget(key, pending);
  }

  #forget(key: string, pending: Pending): void {
    this.#pending.delete(key);
    this.#bytes -= pending.cost;
  }
}

function keyOf(header: TensorHeader): string {
  return `${header.kind}/${header.epoch}/${header.run}/${header.transfer}`;
}

function costOf(part: TensorPart): number {
  return pendingOverheadBytes + part.totalBytes + Math.ceil(part.parts / 8);
}

function sameFrame({ header, parts }: Pending, part: TensorPart): boolean {
  return (
    parts === part.parts &&
    header.dataType === part.dataType &&
    header.dims.length === part.dims.length &&
    header.dims.every((dim, axis) => dim === part.dims[axis])
  );
}

/** Without the payload, which would keep its message alive. */
function headerOf({ kind, epoch, run, transfer, dataType, dims }: TensorHeader): TensorHeader {
  return { kind, epoch, run, transfer, dataType, dims };
}

function dropped(reason: PartDropped): Reassembled {
  return { state: 'dropped', reason };
}
