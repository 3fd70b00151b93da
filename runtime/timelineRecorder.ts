/**
 * Notes what one device does for one run, on its own clock, and packs it into a table of numbers that travels to the
 * host as a frame. What the times of several devices mean together is joinTimelines.ts'.
 */
import type { Tensor } from '../graph/tensor.ts';
import type { TransferKind } from '../protocol/timeline.ts';
import type { Clock } from './clock.ts';

export interface RecordedStage {
  readonly stage: number;
  readonly startMs: number;
  readonly computedMs: number;
  readonly endMs: number;
  readonly waitedFor: number | null;
}

/** One side of a transfer: the sender knows the first two times, the receiver the last. */
export interface RecordedTransfer {
  readonly kind: TransferKind;
  readonly id: number;
  readonly bytes: number;
  readonly queuedMs: number | null;
  readonly handedMs: number | null;
  readonly arrivedMs: number | null;
}

type Sent = Omit<RecordedTransfer, 'handedMs'> & { handedMs: number | null };

export interface DeviceRecord {
  readonly stages: readonly RecordedStage[];
  readonly transfers: readonly RecordedTransfer[];
}

/**
 * Columns of the table: what a row is (0 a stage, 1 + index a transfer of that kind), its number, three times, and
 * the transfer that a stage waited for, or a transfer's bytes. NaN is null.
 */
export const recordColumns = 6;
const kinds = ['input', 'tensor', 'output'] as const;

export class TimelineRecorder {
  readonly #clock: Clock;
  readonly #stages: RecordedStage[] = [];
  readonly #sent: Sent[] = [];
  /** By kind and number. */
  readonly #arrived = new Map<string, RecordedTransfer & { readonly arrivedMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  stage(span: RecordedStage): void {
    this.#stages.push(span);
  }

  /** A transfer is given to a link; `handed` settles when the channel has it. */
  queued(kind: TransferKind, id: number, bytes: number, handed: Promise<void>): void {
    const queuedMs = this.#clock.now();
    const sent: Sent = { kind, id, bytes, queuedMs, handedMs: null, arrivedMs: null };
    this.#sent.push(sent);
    handed.then(
      () => {
        sent.handedMs = this.#clock.now();
      },
      // Who sends it hears of the failure.
      () => undefined,
    );
  }

  arrived(kind: TransferKind, id: number, bytes: number): void {
    const arrivedMs = this.#clock.now();
    this.#arrived.set(`${kind} ${id}`, { kind, id, bytes, queuedMs: null, handedMs: null, arrivedMs });
  }

  /** Of these tensors of other devices, the one that came last. */
  lastArrived(ids: readonly number[]): number | null {
    let last: { readonly id: number; readonly arrivedMs: number } | null = null;
    for (const id of ids) {
      const one = this.#arrived.get(`tensor ${id}`);
      if (one !== undefined && (last === null || one.arrivedMs >= last.arrivedMs)) last = one;
    }
    return last?.id ?? null;
  }

  record(): DeviceRecord {
    return { stages: [...this.#stages], transfers: [...this.#sent, ...this.#arrived.values()] };
  }
}

export function packRecord({ stages, transfers }: DeviceRecord): Tensor {
  const rows = [
    ...stages.map((span) => [0, span.stage, span.startMs, span.computedMs, span.endMs, span.waitedFor]),
    ...transfers.map(({ kind, id, queuedMs, handedMs, arrivedMs, bytes }) => {
      return [1 + kinds.indexOf(kind), id, queuedMs, handedMs, arrivedMs, bytes];
    }),
  ];
  const cells = Float64Array.from(rows.flat(), (cell) => cell ?? Number.NaN);
  return { dataType: 'float64', dims: [rows.length, recordColumns], data: new Uint8Array(cells.buffer) };
}

/** Rows that are none are left out: they come from another device. */
export function unpackRecord({ data }: Tensor): DeviceRecord {
  const cells = new Float64Array(data.slice().buffer);
  const stages: RecordedStage[] = [];
  const transfers: RecordedTransfer[] = [];
  for (let at = 0; at + recordColumns <= cells.length; at += recordColumns) {
    const [what, number, first, second, third, last] = Array.from(
      cells.subarray(at, at + recordColumns),
      (cell) => (Number.isFinite(cell) ? cell : null),
    );
    if (!isCount(what) || !isCount(number)) continue;
    const kind = kinds[what - 1];
    if (kind !== undefined && isCount(last)) {
      const [queuedMs = null, handedMs = null, arrivedMs = null] = [first, second, third];
      transfers.push({ kind, id: number, bytes: last, queuedMs, handedMs, arrivedMs });
    } else if (what === 0 && first != null && second != null && third != null) {
      const waitedFor = isCount(last) ? last : null;
      stages.push({ stage: number, startMs: first, computedMs: second, endMs: third, waitedFor });
    }
  }
  return { stages, transfers };
}

function isCount(cell: number | null | undefined): cell is number {
  return Number.isSafeInteger(cell) && (cell ?? -1) >= 0;
}
