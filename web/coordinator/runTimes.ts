/** How long runs have taken on each placement, and whether the host computes faster than was predicted. */

/** Runs of one placement that are remembered, and the fewest that say something. */
const remembered = 5;
const enough = 3;

export class RunTimes {
  readonly #times = new Map<string, number[]>();
  readonly #speeds: number[] = [];

  /** `speed`: predicted over measured compute time of the host. */
  note(key: string, totalMs: number, speed: number | null): void {
    push(this.#times, key, totalMs);
    if (speed === null) return;
    this.#speeds.push(speed);
    if (this.#speeds.length > remembered) this.#speeds.shift();
  }

  /** Median times by placementKey, where there are enough. */
  get observedMs(): ReadonlyMap<string, number> {
    const known = [...this.#times].filter(([, times]) => times.length >= enough);
    return new Map(known.map(([key, times]) => [key, median(times)]));
  }

  isObserved(key: string): boolean {
    return (this.#times.get(key)?.length ?? 0) >= enough;
  }

  /**
   * How much faster than predicted the host computes; 1 where it is slower, because that may be due to the other
   * devices it shares a machine with.
   */
  get faster(): number {
    return this.#speeds.length < enough ? 1 : Math.max(1, median(this.#speeds));
  }

  clear(): void {
    this.#times.clear();
    this.#speeds.length = 0;
  }
}

function push(times: Map<string, number[]>, key: string, ms: number): void {
  const list = times.get(key) ?? [];
  list.push(ms);
  if (list.length > remembered) list.shift();
  times.set(key, list);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? Number.NaN;
}
