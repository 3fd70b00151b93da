/** Boxes of objects: overlap, and suppression of those that show the same object. Pixels of the picture, any origin. */

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Detection extends Box {
  /** Index of the class. */
  readonly label: number;
  /** From 0 to 1. */
  readonly score: number;
}

/** Area of the overlap over the area of both. */
export function intersectionOverUnion(a: Box, b: Box): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const overlap = width * height;
  return overlap / (areaOf(a) + areaOf(b) - overlap);
}

function areaOf({ left, top, right, bottom }: Box): number {
  return (right - left) * (bottom - top);
}

/** Non-maximum suppression, greedy and within each class: the best first; what overlaps a kept one by more than `overlap` goes. */
export function suppress(detections: readonly Detection[], overlap: number): Detection[] {
  const kept: Detection[] = [];
  for (const candidate of detections.toSorted((a, b) => b.score - a.score)) {
    const shown = kept.some(
      (other) => other.label === candidate.label && intersectionOverUnion(other, candidate) > overlap,
    );
    if (!shown) kept.push(candidate);
  }
  return kept;
}
