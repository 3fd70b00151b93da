/**
 * Over how many devices each instance is divided. One, with the whole model, costs no traffic and serves most; more
 * where one alone is too slow for the objective, or cannot hold the model. Decided on the runs that are served anyway.
 */

export class DevicesPerInstance {
  /** Latencies of one run alone, by devices; infinite where no such instance can be made. */
  readonly #known = new Map<number, number>();
  readonly #fixed: number | null;
  #available = 1;
  #current: number;

  /** `fixed` is what the page asked for; null to choose. */
  constructor(fixed: number | null) {
    this.#fixed = fixed;
    this.#current = fixed ?? 1;
  }

  get current(): number {
    return this.#current;
  }

  /** So many devices are there now. What was known of others may not hold any more. */
  reset(available: number): void {
    this.#available = available;
    this.#known.clear();
    if (this.#fixed === null) this.#current = 1;
  }

  /** One run alone took so long at p95. Whether instances are to be placed anew. */
  measured(p95Ms: number, limitMs: number): boolean {
    if (this.#fixed !== null) return false;
    this.#known.set(this.#current, p95Ms);
    if (p95Ms <= limitMs) return false;
    const untried = this.#candidates().find((count) => !this.#known.has(count));
    const fastest = [...this.#known].sort((a, b) => a[1] - b[1])[0]?.[0] ?? 1;
    return this.#use(untried ?? fastest);
  }

  /** No instance of this kind can be made. Whether another kind is to be tried. */
  refused(): boolean {
    return this.measured(Number.POSITIVE_INFINITY, 0);
  }

  /** Doubling, the smallest first: it is the one that keeps most devices for other instances. */
  #candidates(): number[] {
    const counts = [];
    for (let count = 1; count < this.#available; count *= 2) counts.push(count);
    return [...counts, this.#available];
  }

  #use(count: number): boolean {
    const changed = count !== this.#current;
    this.#current = count;
    return changed;
  }
}
