/** Writes the README's headlines, docs/measured.md and the picture of the sparse curves from bench/results. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { sparseChart } from './figures/sparse.ts';
import { measuredPage, withHeadlines } from './measuredFigures.ts';

const pathOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

const readme = pathOf('README.md');
writeFileSync(readme, withHeadlines(readFileSync(readme, 'utf8')));
writeFileSync(pathOf('docs/measured.md'), measuredPage());
const chart = sparseChart();
if (chart !== undefined) {
  mkdirSync(pathOf('docs/figures'), { recursive: true });
  writeFileSync(pathOf('docs/figures/sparse.svg'), chart);
}
