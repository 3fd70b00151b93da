/** The last keys that were added, so many at most. */
export class RecentKeys {
  readonly #most: number;
  readonly #known = new Set<string>();
  /** In the order they came, the oldest at `#next` once it is full. A Set's own first key takes ever longer to find. */
  readonly #ring: string[] = [];
  #next = 0;

  constructor(most: number) {
    this.#most = most;
  }

  has(key: string): boolean {
    return this.#known.has(key);
  }

  /** Of a key that is not known. */
  add(key: string): void {
    const oldest = this.#ring[this.#next];
    if (oldest !== undefined) this.#known.delete(oldest);
    this.#ring[this.#next] = key;
    this.#known.add(key);
    this.#next = (this.#next + 1) % this.#most;
  }
}
