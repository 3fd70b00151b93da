import { expect, test } from 'vitest';
import { normal, seededRandom } from '../../graph/random.ts';
import { quadraticForms } from './quadraticForm.ts';

test.each([
  [1, 1],
  [5, 3],
  [17, 4],
  [12, 9],
])('width %d, %d rows, many of them zero', (width, count) => {
  const random = seededRandom(width);
  const matrix = new Float64Array(width * width);
  for (let i = 0; i < width; i++)
    for (let j = 0; j <= i; j++) {
      matrix[i * width + j] = normal(random);
      matrix[j * width + i] = matrix[i * width + j] ?? 0;
    }
  const rows = Float64Array.from({ length: count * width }, () => (random() < 0.4 ? 0 : normal(random)));
  let expected = 0;
  for (let row = 0; row < count; row++)
    for (let i = 0; i < width; i++)
      for (let j = 0; j < width; j++)
        expected +=
          (rows[row * width + i] ?? 0) * (matrix[i * width + j] ?? 0) * (rows[row * width + j] ?? 0);
  expect(quadraticForms(matrix, width, rows)).toBeCloseTo(expected, 9);
});
