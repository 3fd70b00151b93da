/** What random cases of operators are made of: attributes, shapes, and tensors away from where gradients do not exist. */
import type { Attribute } from '../../../graph/graph.ts';
import { normal } from '../../../graph/random.ts';
import { elementCount, float32Tensor, type Tensor } from '../../../graph/tensor.ts';
import type { GradientCase } from '../centralDifferences.ts';

export type Random = () => number;

export const int = (value: number): Attribute => ({ type: 'int', value });
export const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
export const float = (value: number): Attribute => ({ type: 'float', value });
export const string = (value: string): Attribute => ({ type: 'string', value });

export function between(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

export function pick<T>(random: Random, ...choices: readonly [T, ...T[]]): T {
  return choices[Math.floor(random() * choices.length)] ?? choices[0];
}

export function dims(random: Random, rank: number, low = 1, high = 4): number[] {
  return Array.from({ length: rank }, () => between(random, low, high));
}

export function filled(shape: readonly number[], value: (i: number) => number): Tensor {
  return float32Tensor(
    shape,
    Array.from({ length: elementCount(shape) }, (_, i) => value(i)),
  );
}

export const floats = (random: Random, shape: readonly number[]): Tensor =>
  filled(shape, () => normal(random));

/** Values at least 0.05 away from every point where the operator bends. */
export function away(random: Random, shape: readonly number[], ...bends: number[]): Tensor {
  return filled(shape, () => {
    for (;;) {
      const value = 1.5 * normal(random);
      if (bends.every((bend) => Math.abs(value - bend) > 0.05)) return value;
    }
  });
}

/** Values in [low, high]. */
export const within = (random: Random, shape: readonly number[], low: number, high: number): Tensor =>
  filled(shape, () => low + (high - low) * random());

/** All different by at least 0.1, in random order, so that no step changes which one is largest. */
export function distinct(random: Random, shape: readonly number[]): Tensor {
  const order = Array.from({ length: elementCount(shape) }, () => random());
  const ranks = order.map((value) => order.filter((other) => other < value).length);
  return filled(shape, (i) => 0.1 * ((ranks[i] ?? 0) - order.length / 2));
}

/** Two shapes that broadcast together. */
export function broadcasting(random: Random): [number[], number[]] {
  const shape = dims(random, between(random, 1, 4));
  const cut = (): number[] =>
    shape.slice(between(random, 0, shape.length)).map((length) => (random() < 0.3 ? 1 : length));
  return random() < 0.5 ? [shape, cut()] : [cut(), shape];
}

export function unary(make: (random: Random, shape: number[]) => Tensor, attributes = {}) {
  return (opType: string, random: Random): GradientCase => ({
    opType,
    attributes,
    inputs: [make(random, dims(random, between(random, 1, 4)))],
  });
}

export function binary(left: typeof floats, right: typeof floats) {
  return (opType: string, random: Random): GradientCase => {
    const [a, b] = broadcasting(random);
    return { opType, inputs: [left(random, a), right(random, b)] };
  };
}

export const anyShape = unary(floats);

/** A random case of one operator. */
export type MakeCase = (opType: string, random: Random) => GradientCase;
