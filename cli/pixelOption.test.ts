/** Every option reaches the graph as what it says; what cannot be meant is refused. */
import { expect, test } from 'vitest';
import { parsePixels } from './pixelOption.ts';

const scale = { 'pixel-scale': '255' };

test('ends are chosen by name', () => {
  expect(parsePixels('in', scale)).toEqual({ input: { scale: 255 } });
  expect(parsePixels('out', scale)).toEqual({ output: { scale: 255 } });
  expect(parsePixels('both', { 'pixel-scale': '1' })).toEqual({ input: { scale: 1 }, output: { scale: 1 } });
  expect(parsePixels('classes', scale)).toEqual({ input: { scale: 255 }, output: { classes: true } });
});

test('mean and deviation are one number or one for each channel', () => {
  const values = { ...scale, 'pixel-mean': '0.5', 'pixel-std': '0.2,0.3,0.4' };
  expect(parsePixels('in', values)).toEqual({ input: { scale: 255, mean: [0.5], std: [0.2, 0.3, 0.4] } });
});

test.each([
  ['sideways', scale],
  ['in', { 'pixel-scale': '0' }],
  ['in', { ...scale, 'pixel-mean': 'a,b' }],
  ['in', { ...scale, 'pixel-std': '0' }],
])('--pixels %s with %o is refused', (ends, values) => {
  expect(() => parsePixels(ends, values)).toThrow(/^Expected --pixel/);
});
