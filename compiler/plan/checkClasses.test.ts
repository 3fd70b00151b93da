import { expect, it } from 'vitest';
import type { Graph } from '../../graph/graph.ts';
import { checkClasses } from './checkClasses.ts';

const giving = (...shape: number[]): Graph => ({
  name: 'g',
  inputs: [],
  outputs: [{ name: 'scores', dataType: 'float32', shape }],
  nodes: [],
  initializers: new Map(),
  values: new Map(),
});

it('wants one name for each score, and asks nothing of maps', () => {
  expect(() => checkClasses(giving(1, 3), ['cat', 'dog'])).toThrow(/"scores" has 3 scores, .* 2 names/);
  checkClasses(giving(1, 2), ['cat', 'dog']);
  checkClasses(giving(2), ['cat', 'dog']);
  checkClasses(giving(1, 12, 36, 48), ['road', 'sky']);
});
