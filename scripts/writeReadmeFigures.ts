/** Writes the README's tables from bench/results. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { withFigures } from './readmeFigures.ts';

const path = fileURLToPath(new URL('../README.md', import.meta.url));
writeFileSync(path, withFigures(readFileSync(path, 'utf8')));
