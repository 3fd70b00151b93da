/** What a program waits for from outside: inputs from the host and tensors of other devices, by kind and number. */
import type { TensorHeader } from '../protocol/frame.ts';
import type { Feed, Program } from './lower/program.ts';
import { sameDims } from './sameDims.ts';

/** What comes under a local name. */
export type Arrival = Pick<Feed, 'name' | 'dataType' | 'dims'>;

export class Arrivals {
  readonly #arrivals: ReadonlyMap<string, Arrival>;
  readonly #waits: readonly (readonly number[])[];
  readonly #openBatch: boolean;

  constructor({ feeds, receives, stages }: Program, openBatch: boolean) {
    const arrivals = new Map<string, Arrival>();
    for (const feed of feeds) arrivals.set(`input ${feed.id}`, feed);
    for (const { id, targetName, dataType, dims } of receives) {
      arrivals.set(`tensor ${id}`, { name: targetName, dataType, dims });
    }
    this.#arrivals = arrivals;
    this.#openBatch = openBatch;
    this.#waits = stages.map(({ inputs }) =>
      receives.filter(({ targetName }) => inputs.includes(targetName)).map(({ id }) => id),
    );
  }

  get(kind: TensorHeader['kind'], id: number): Arrival | undefined {
    return this.#arrivals.get(`${kind} ${id}`);
  }

  /** What a frame brings, where its type and shape are right. */
  fitting({ kind, transfer, dataType, dims }: TensorHeader): Arrival | undefined {
    const arrival = this.get(kind, transfer);
    if (arrival === undefined || arrival.dataType !== dataType) return undefined;
    return sameDims(arrival.dims, dims, this.#openBatch) ? arrival : undefined;
  }

  /** Numbers of the transfers that a stage reads, by its index. */
  waitsOf(stage: number): readonly number[] {
    return this.#waits[stage] ?? [];
  }
}
