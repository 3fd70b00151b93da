/** How channels are spread: evenly, also where a shortcut pads and where they do not divide. */
import { expect, test } from 'vitest';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { size } from '../../graph/ranges.ts';
import { float32Tensor, int64Tensor } from '../../graph/tensor.ts';
import { divideByChannels } from './divideChannels.ts';

function node(
  opType: string,
  inputs: string[],
  output: string,
  attributes: Record<string, Attribute> = {},
): Node {
  return {
    name: output,
    opType,
    domain: '',
    inputs,
    outputs: [output],
    attributes: new Map(Object.entries(attributes)),
  };
}

function weight(outputs: number, inputs: number) {
  return float32Tensor([outputs, inputs, 1, 1], new Float32Array(outputs * inputs));
}

/** conv -> relu, then a shortcut that pads the channels to twice as many beside a convolution: ResNet's option A. */
function shortcut(channels: number): Graph {
  const half = channels / 2;
  const info = (name: string, count: number) => ({
    name,
    dataType: 'float32' as const,
    shape: [1, count, 4, 4],
  });
  return {
    name: 'shortcut',
    inputs: [info('x', 3)],
    outputs: [info('sum', 2 * channels)],
    nodes: [
      node('Conv', ['x', 'w0'], 'a'),
      node('Relu', ['a'], 'b'),
      node('Conv', ['b', 'w1'], 'c'),
      node('Pad', ['b', 'pads'], 'd'),
      node('Add', ['c', 'd'], 'sum'),
    ],
    initializers: new Map([
      ['w0', weight(channels, 3)],
      ['w1', weight(2 * channels, channels)],
      ['pads', int64Tensor([0, half, 0, 0, 0, half, 0, 0])],
    ]),
    values: new Map([
      ['a', info('a', channels)],
      ['b', info('b', channels)],
      ['c', info('c', 2 * channels)],
      ['d', info('d', 2 * channels)],
    ]),
  };
}

test.each([1, 2, 3, 4, 5, 7, 8, 16, 32])(
  '%d shards own every channel once, and equally many',
  (numShards) => {
    const { shardings } = divideByChannels(shortcut(16), numShards);
    for (const [value, channels] of [
      ['b', 16],
      ['sum', 32],
    ] as const) {
      const sizes = (shardings.get(value)?.parts ?? []).map(size);
      expect(sizes.reduce((a, b) => a + b, 0)).toBe(channels);
      expect(Math.max(...sizes) - Math.min(...sizes)).toBeLessThanOrEqual(2);
    }
  },
);

test('what only moves data has no owner, and a sum is divided like its terms', () => {
  const { shardings } = divideByChannels(shortcut(16), 2);
  expect(shardings.has('d')).toBe(false);
  expect(shardings.get('sum')).toEqual(shardings.get('c'));
});

test('more shards than channels leave some empty', () => {
  const { shardings } = divideByChannels(shortcut(4), 16);
  expect((shardings.get('b')?.parts ?? []).filter((ranges) => size(ranges) === 0)).toHaveLength(12);
});
