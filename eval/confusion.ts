/** Counts of (true class, predicted class) over pixels, and the mean intersection over union that follows. */

export class Confusion {
  readonly #classes: number;
  readonly #counts: Float64Array;

  constructor(classes: number) {
    this.#classes = classes;
    this.#counts = new Float64Array(classes * classes);
  }

  /** Pixels whose true label is no class (void) are left out; a predicted label must be a class. */
  add(truth: ArrayLike<number>, predicted: ArrayLike<number>): void {
    for (let i = 0; i < truth.length; i++) {
      const label = truth[i] ?? this.#classes;
      if (label >= this.#classes) continue;
      const index = label * this.#classes + (predicted[i] ?? 0);
      this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    }
  }

  /** Of each class over all pixels: hits / (truth + predicted - hits); undefined for a class that occurs nowhere. */
  intersectionOverUnion(): (number | undefined)[] {
    return Array.from({ length: this.#classes }, (_, label) => {
      let [truth, predicted] = [0, 0];
      for (let other = 0; other < this.#classes; other++) {
        truth += this.#counts[label * this.#classes + other] ?? 0;
        predicted += this.#counts[other * this.#classes + label] ?? 0;
      }
      const hits = this.#counts[label * this.#classes + label] ?? 0;
      const union = truth + predicted - hits;
      return union === 0 ? undefined : hits / union;
    });
  }

  meanIntersectionOverUnion(): number {
    const known = this.intersectionOverUnion().filter((value) => value !== undefined);
    return known.reduce((sum, value) => sum + value, 0) / known.length;
  }

  pixelAccuracy(): number {
    let [hits, all] = [0, 0];
    for (const [index, count] of this.#counts.entries()) {
      all += count;
      if (index % (this.#classes + 1) === 0) hits += count;
    }
    return hits / all;
  }
}
