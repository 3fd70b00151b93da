/** Sets of elements that are joined two by two; the smallest element of a set names it. */
export class UnionFind {
  readonly #parent: number[] = [];

  add(): number {
    this.#parent.push(this.#parent.length);
    return this.#parent.length - 1;
  }

  find(element: number): number {
    let root = element;
    while (this.#parent[root] !== root) root = this.#parent[root] ?? root;
    let at = element;
    while (at !== root) {
      const next = this.#parent[at] ?? root;
      this.#parent[at] = root;
      at = next;
    }
    return root;
  }

  union(a: number, b: number): void {
    const [low, high] = [this.find(a), this.find(b)].sort((x, y) => x - y);
    if (low !== undefined && high !== undefined) this.#parent[high] = low;
  }
}
