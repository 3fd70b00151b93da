/** The README's figures are those of the committed results. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { withFigures } from './readmeFigures.ts';

test('the README holds the figures of bench/results; if not, run npm run docs:figures', () => {
  const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');
  expect(withFigures(readme)).toBe(readme);
});
