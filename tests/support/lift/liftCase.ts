/** One node of an opset other than 17, between a float input and the outputs of a graph. */
import type { Attribute, Model, ValueInfo } from '../../../graph/graph.ts';
import { seededRandom } from '../../../graph/random.ts';
import { float32Tensor, type Tensor } from '../../../graph/tensor.ts';
import { randomFloats } from '../random.ts';

export interface Case {
  readonly op: string;
  readonly opset: number;
  readonly shape?: readonly number[];
  readonly attributes?: Readonly<Record<string, Attribute>>;
  /** Inputs after the first, which is the graph's float input; null is an absent one. */
  readonly constants?: readonly (Tensor | null)[];
  readonly outputs?: number;
}

/** One node of the operator between a float input and the graph's outputs. */
export function modelOf({
  op,
  opset,
  shape = [2, 3, 4, 6],
  attributes = {},
  constants = [],
  outputs = 1,
}: Case): Model {
  const names = constants.map((tensor, i) => (tensor === null ? '' : `k${i}`));
  const results = Array.from({ length: outputs }, (_, i) => `y${i}`);
  return {
    irVersion: 8,
    opsets: new Map([['', opset]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'one node',
      inputs: [{ name: 'x', dataType: 'float32', shape }],
      outputs: results.map((name): ValueInfo => ({ name, dataType: 'float32', untyped: true })),
      nodes: [
        {
          name: 'node',
          opType: op,
          domain: '',
          inputs: ['x', ...names],
          outputs: results,
          attributes: new Map(Object.entries(attributes)),
        },
      ],
      initializers: new Map(
        constants.flatMap((tensor, i) => (tensor === null ? [] : [[`k${i}`, tensor] as const])),
      ),
      values: new Map(),
    },
  };
}

export function withoutKey<T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== key));
}

const random = seededRandom(21);
export const floatsOf = (...dims: number[]) => randomFloats(random, dims);
export const positive = (...dims: number[]) => randomFloats(random, dims, 0.2, 2);
export const scalar = (value: number) => float32Tensor([], [value]);
export const boxes = float32Tensor([2, 4], [0, 0, 4, 3, 1, 1, 5, 4]);
export const reductions = ['Max', 'Min', 'Mean', 'Prod', 'L1', 'L2', 'LogSumExp', 'SumSquare'] as const;

export const title = ({ op, opset, attributes = {} }: Case) =>
  `${op} of opset ${opset} ${Object.entries(attributes)
    .map(([name, { value }]) => `${name}=${String(value)}`)
    .join(' ')}`;
