/**
 * What the Workers of this device take of the memory that it may use: the room's own share and every part of an
 * instance, as predicted before it is made. It keeps the account; who may take part is the host's business.
 */
import { StarlingError } from '../../protocol/errors.ts';

export interface MemoryLedgerOptions {
  /** Of all wasm heaps of this device together; null for no limit. */
  readonly limitBytes: number | null;
  /** What the Worker of the room's own placement takes now. */
  roomBytes(): number;
}

export class MemoryLedger {
  readonly #options: MemoryLedgerOptions;
  readonly #parts = new Set<{ readonly bytes: number }>();

  constructor(options: MemoryLedgerOptions) {
    this.#options = options;
  }

  /** Takes `bytes` for one more part of an instance; returns what gives them back. Throws MEMORY_LIMIT. */
  reserve(bytes: number): () => void {
    const { limitBytes, roomBytes } = this.#options;
    const room = roomBytes();
    const others = [...this.#parts].reduce((sum, part) => sum + part.bytes, 0);
    if (limitBytes !== null && room + others + bytes > limitBytes) {
      const parts = this.#parts.size;
      const beside = parts === 0 ? '' : ` and ${parts} ${parts === 1 ? 'instance' : 'instances'}`;
      throw new StarlingError(
        'MEMORY_LIMIT',
        `One more instance needs about ${mebibytes(bytes)} on this device, beside ${mebibytes(room + others)} of the room's share${beside}, and its limit is ${mebibytes(limitBytes)}; raise the limit, or let more devices join.`,
      );
    }
    const part = { bytes };
    this.#parts.add(part);
    return () => this.#parts.delete(part);
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MiB`;
}
