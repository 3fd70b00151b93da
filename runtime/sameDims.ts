/** Whether dimensions are those expected; where the batch axis is open, the first may have any length. */
export function sameDims(expected: readonly number[], got: readonly number[], openBatch: boolean): boolean {
  return (
    expected.length === got.length &&
    expected.every((dim, axis) => dim === got[axis] || (axis === 0 && openBatch && (got[axis] ?? 0) > 0))
  );
}
