/** Writes the README's tables and the picture of the sparse curves from bench/results. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sparseChart } from './figures/sparse.ts';
import { withFigures } from './readmeFigures.ts';

const path = fileURLToPath(new URL('../README.md', import.meta.url));
writeFileSync(path, withFigures(readFileSync(path, 'utf8')));
const chart = sparseChart();
if (chart !== undefined) {
  const folder = new URL('../docs/figures/', import.meta.url);
  mkdirSync(folder, { recursive: true });
  writeFileSync(new URL('sparse.svg', folder), chart);
}
