/** Shape arithmetic of ONNX's broadcasting, reducing and padding. */

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((length, axis) => length === b[axis]);
}

/** The shape that two broadcast together; they are taken to fit. */
export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const left = a[axis - rank + a.length] ?? 1;
    const right = b[axis - rank + b.length] ?? 1;
    return left === 1 ? right : left;
  });
}

/** The shape after reducing some axes, which stay with length 1 or go. */
export function reducedShape(shape: readonly number[], axes: readonly number[], keepDims: boolean): number[] {
  if (keepDims) return shape.map((length, axis) => (axes.includes(axis) ? 1 : length));
  return shape.filter((_, axis) => !axes.includes(axis));
}

/** Start and end, per axis that negative padding cuts. */
export function cutBounds(
  shape: readonly number[],
  before: readonly number[],
  after: readonly number[],
): [number[], number[]] {
  const cut = shape
    .map((length, axis) => ({ length, front: before[axis] ?? 0, back: after[axis] ?? 0 }))
    .filter(({ front, back }) => front < 0 || back < 0);
  return [
    cut.map(({ front }) => Math.max(0, -front)),
    cut.map(({ length, back }) => length + Math.min(0, back)),
  ];
}
