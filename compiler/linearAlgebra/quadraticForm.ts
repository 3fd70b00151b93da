/** Sums of quadratic forms of one symmetric matrix, which is read once for four vectors and skips what they all leave out. */

/** Vectors that are multiplied at once. */
const together = 4;

/** Sum over the rows w of `rows` (count x width) of w' A w; `matrix` is A, symmetric, width x width. */
export function quadraticForms(matrix: Float64Array, width: number, rows: Float64Array): number {
  let total = 0;
  const packed = new Float64Array(together * width);
  const columns = new Int32Array(width);
  for (let start = 0; start < rows.length; start += together * width) {
    const used = pack(rows, start, width, packed, columns);
    for (let i = 0; i < used; i++) {
      const row = (columns[i] as number) * width;
      let [a, b, c, d] = [0, 0, 0, 0];
      for (let j = 0; j < i; j++) {
        const value = matrix[row + (columns[j] as number)] as number;
        const at = together * j;
        a += value * (packed[at] as number);
        b += value * (packed[at + 1] as number);
        c += value * (packed[at + 2] as number);
        d += value * (packed[at + 3] as number);
      }
      const diagonal = matrix[row + (columns[i] as number)] as number;
      const at = together * i;
      total += part(a, diagonal, packed[at] as number) + part(b, diagonal, packed[at + 1] as number);
      total += part(c, diagonal, packed[at + 2] as number) + part(d, diagonal, packed[at + 3] as number);
    }
  }
  return total;
}

/** What one element adds: with those before it twice, with itself once. */
function part(before: number, diagonal: number, element: number): number {
  return element * (2 * before + diagonal * element);
}

/** The next rows side by side, without the columns where all are zero; says how many columns there are. */
function pack(
  rows: Float64Array,
  start: number,
  width: number,
  packed: Float64Array,
  columns: Int32Array,
): number {
  const count = Math.min(together, (rows.length - start) / width);
  let used = 0;
  for (let column = 0; column < width; column++) {
    let some = false;
    for (let k = 0; k < together; k++) {
      const value = k < count ? (rows[start + k * width + column] as number) : 0;
      packed[together * used + k] = value;
      if (value !== 0) some = true;
    }
    if (some) columns[used++] = column;
  }
  return used;
}
