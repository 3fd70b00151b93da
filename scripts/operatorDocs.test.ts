import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { replicatedOperators } from '../graph/ops/replicated.ts';
import { ruledOperators } from '../graph/ops/rules.ts';
import { operatorDocs } from './operatorDocs.ts';

test('docs/operators.md is what the tables say', () => {
  const committed = readFileSync(new URL('../docs/operators.md', import.meta.url), 'utf8');
  expect(committed, 'run `npm run docs:operators` and commit the file').toBe(operatorDocs());
});

test('no operator both has a rule and is listed as computed whole', () => {
  expect(ruledOperators().filter((name) => replicatedOperators.has(name))).toEqual([]);
});
