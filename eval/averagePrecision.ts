/** Mean average precision of detections, as Pascal VOC defines it since 2010: the area under precision over recall. */
import { type Detection, intersectionOverUnion } from './boxes.ts';
import type { GroundTruth } from './voc.ts';

/** Least overlap of a hit. */
const hitOverlap = 0.5;

interface Judged {
  readonly score: number;
  readonly hit: boolean;
}

export class AveragePrecision {
  /** Class -> detections that counted, of all pictures. */
  readonly #judged = new Map<number, Judged[]>();
  /** Class -> objects to find. */
  readonly #objects = new Map<number, number>();

  /** One picture. Detections of classes that occur in no picture count for nothing. */
  add(truth: readonly GroundTruth[], detections: readonly Detection[]): void {
    for (const { label, difficult } of truth) {
      this.#objects.set(label, (this.#objects.get(label) ?? 0) + (difficult ? 0 : 1));
    }
    const found = new Set<GroundTruth>();
    for (const detection of detections.toSorted((a, b) => b.score - a.score)) {
      const { label, score } = detection;
      let best: GroundTruth | undefined;
      let overlap = 0;
      for (const object of truth) {
        if (object.label !== label) continue;
        const own = intersectionOverUnion(object, detection);
        if (own > overlap) [best, overlap] = [object, own];
      }
      const near = best !== undefined && overlap >= hitOverlap ? best : undefined;
      if (near?.difficult === true) continue;
      // A second box on one object is a mistake.
      const hit = near !== undefined && !found.has(near);
      if (near !== undefined) found.add(near);
      const judged = this.#judged.get(label) ?? [];
      judged.push({ score, hit });
      this.#judged.set(label, judged);
    }
  }

  /** Average precision of each class that has objects to find. */
  perClass(): ReadonlyMap<number, number> {
    const result = new Map<number, number>();
    for (const [label, objects] of this.#objects) {
      if (objects > 0) result.set(label, areaUnder(this.#judged.get(label) ?? [], objects));
    }
    return result;
  }

  mean(): number {
    const values = [...this.perClass().values()];
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  }
}

/** Each recall counts with the best precision at that recall or a higher one. */
function areaUnder(judged: readonly Judged[], objects: number): number {
  const points: { recall: number; precision: number }[] = [];
  let hits = 0;
  for (const [i, { hit }] of judged.toSorted((a, b) => b.score - a.score).entries()) {
    if (hit) hits++;
    points.push({ recall: hits / objects, precision: hits / (i + 1) });
  }
  let [area, best, recall] = [0, 0, points.at(-1)?.recall ?? 0];
  for (const point of points.toReversed()) {
    if (point.recall < recall) {
      area += (recall - point.recall) * best;
      recall = point.recall;
    }
    best = Math.max(best, point.precision);
  }
  return area + recall * best;
}
