/** Writes docs/operators.md: `npm run docs:operators`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { operatorDocs } from './operatorDocs.ts';

const folder = fileURLToPath(new URL('../docs/', import.meta.url));
mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}operators.md`, operatorDocs());
console.log('docs/operators.md is written.');
