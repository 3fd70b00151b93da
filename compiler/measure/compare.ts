/** How far apart two sets of outputs are: absolute, relative to the largest value, and whether they would decide alike. */
import { float32View, readIntegers, type Tensor } from '../../graph/tensor.ts';

export interface Comparison {
  readonly maxAbsError: number;
  /** Largest ratio of error to largest absolute value, over outputs and over indices of a short last axis. */
  readonly relativeError: number;
  /** Root of the squared errors' sum over that of the squares, of the output where it is largest. */
  readonly relativeRms: number;
  /** Share of samples whose largest entry along the last axis is the same; 1 for outputs that are no scores. */
  readonly agreement: number;
}

/** Outputs whose last axis is at most this long are compared for each of its indices too: a detector's box corners differ in scale. */
const shortAxis = 100;

function numbers(tensor: Tensor): ArrayLike<number> {
  if (tensor.dataType === 'float32') return float32View(tensor);
  if (tensor.dataType === 'float64') {
    return new Float64Array(tensor.data.slice().buffer);
  }
  return readIntegers(tensor);
}

class Extremes {
  error = 0;
  largest = 0;
  #squaredErrors = 0;
  #squares = 0;

  add(expected: number, got: number): void {
    // NaN or infinity on one side only is as wrong as can be.
    const error = Object.is(expected, got) ? 0 : Math.abs(expected - got);
    this.error = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(this.error, error);
    this.#squaredErrors += this.error === Number.POSITIVE_INFINITY ? this.error : error ** 2;
    if (!Number.isFinite(expected)) return;
    this.largest = Math.max(this.largest, Math.abs(expected));
    this.#squares += expected ** 2;
  }

  get rms(): number {
    if (this.error === 0) return 0;
    return Math.sqrt(
      this.error === Number.POSITIVE_INFINITY ? this.error : this.#squaredErrors / this.#squares,
    );
  }

  get relative(): number {
    if (this.error === 0) return 0;
    return this.largest === 0 ? Number.POSITIVE_INFINITY : this.error / this.largest;
  }
}

function argmaxRows(values: ArrayLike<number>, length: number): number[] {
  const result: number[] = [];
  for (let start = 0; start + length <= values.length; start += length) {
    let best = 0;
    for (let i = 1; i < length; i++) if ((values[start + i] ?? 0) > (values[start + best] ?? 0)) best = i;
    result.push(best);
  }
  return result;
}

/** Gathers errors over any number of samples. */
export class Comparator {
  readonly #whole = new Map<string, Extremes>();
  readonly #byIndex = new Map<string, Extremes>();
  #decisions = 0;
  #agreed = 0;

  add(expected: Readonly<Record<string, Tensor>>, got: Readonly<Record<string, Tensor>>): void {
    for (const [name, tensor] of Object.entries(expected)) {
      const other = got[name];
      if (other === undefined || other.dims.join() !== tensor.dims.join()) {
        this.#extremes(this.#whole, name).error = Number.POSITIVE_INFINITY;
        continue;
      }
      this.#compare(name, numbers(tensor), numbers(other), tensor.dims);
    }
  }

  result(): Comparison {
    const all = [...this.#whole.values(), ...this.#byIndex.values()];
    return {
      maxAbsError: Math.max(0, ...all.map(({ error }) => error)),
      relativeError: Math.max(0, ...all.map(({ relative }) => relative)),
      relativeRms: Math.max(0, ...[...this.#whole.values()].map(({ rms }) => rms)),
      agreement: this.#decisions === 0 ? 1 : this.#agreed / this.#decisions,
    };
  }

  #compare(name: string, expected: ArrayLike<number>, got: ArrayLike<number>, dims: readonly number[]): void {
    const last = dims.at(-1) ?? 1;
    const whole = this.#extremes(this.#whole, name);
    const perIndex =
      last <= shortAxis
        ? Array.from({ length: last }, (_, index) => this.#extremes(this.#byIndex, `${name} ${index}`))
        : [];
    for (let i = 0; i < expected.length; i++) {
      const a = expected[i] ?? 0;
      const b = got[i] ?? 0;
      whole.add(a, b);
      perIndex[i % last]?.add(a, b);
    }
    // Rows of scores: [N, classes]. Larger outputs are maps and have no one decision.
    if (dims.length !== 2) return;
    const decided = argmaxRows(got, last);
    for (const [row, best] of argmaxRows(expected, last).entries()) {
      this.#decisions++;
      if (decided[row] === best) this.#agreed++;
    }
  }

  #extremes(table: Map<string, Extremes>, key: string): Extremes {
    const known = table.get(key) ?? new Extremes();
    table.set(key, known);
    return known;
  }
}
