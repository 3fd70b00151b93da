/** What the documents say was measured is what the committed results say. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { measuredPage, withHeadlines } from './measuredFigures.ts';

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8');

test('the README holds the headlines of bench/results; if not, run npm run docs:figures', () => {
  const readme = read('README.md');
  expect(withHeadlines(readme)).toBe(readme);
});

test('docs/measured.md holds the figures of bench/results; if not, run npm run docs:figures', () => {
  expect(read('docs/measured.md')).toBe(measuredPage());
});
