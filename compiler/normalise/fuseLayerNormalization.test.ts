/** Layer normalisation in parts becomes one operator, computes the same, and anything else stays. */
import { describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Attribute, Model, Node } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, type Tensor } from '../../graph/tensor.ts';
import { int, ints, random } from '../../tests/support/operatorCase.ts';
import { tensorDifference } from '../../tests/support/tensorDifference.ts';
import { runWhole } from '../measure/verify.ts';
import { fuseLayerNormalization } from './fuseLayerNormalization.ts';

interface Variant {
  readonly axes?: readonly number[];
  readonly power?: 'Pow' | 'Mul' | 'again';
  readonly parameters?: 'both' | 'scale' | 'none';
  readonly exponent?: number;
  readonly varianceAxes?: readonly number[];
  readonly keepdims?: number;
  /** A second output of the graph. */
  readonly also?: string;
  readonly scaleDims?: readonly number[];
}

const shape = [2, 3, 4, 6];

function model(variant: Variant): Model {
  const { axes = [-1], power = 'Pow', parameters = 'both', exponent = 2, keepdims = 1, also } = variant;
  const dims = shape.slice(-axes.length);
  const initializers = new Map<string, Tensor>([
    ['two', float32Tensor([], [exponent])],
    ['epsilon', float32Tensor([], [1e-3])],
    ['scale', random(variant.scaleDims ?? dims)],
    ['bias', random(dims)],
  ]);
  const node = (opType: string, inputs: string[], output: string, attributes: Record<string, Attribute> = {}): Node => ({
    name: output, opType, domain: '', inputs, outputs: [output], attributes: new Map(Object.entries(attributes)),
  }); // biome-ignore format: one record
  const overAxes = (list: readonly number[]) => ({ axes: ints(...list), keepdims: int(keepdims) });
  const last = { both: 'y', scale: 'z', none: 'n' }[parameters];
  const nodes = [
    node('ReduceMean', ['x'], 'mean', overAxes(axes)),
    node('Sub', ['x', 'mean'], 'd'),
    ...(power === 'again' ? [node('Sub', ['x', 'mean'], 'd2')] : []),
    power === 'Mul'
      ? node('Mul', ['d', 'd'], 's')
      : node('Pow', [power === 'again' ? 'd2' : 'd', 'two'], 's'),
    node('ReduceMean', ['s'], 'v', overAxes(variant.varianceAxes ?? axes)),
    node('Add', ['v', 'epsilon'], 'e'),
    node('Sqrt', ['e'], 'r'),
    node('Div', ['d', 'r'], 'n'),
    node('Mul', ['scale', 'n'], 'z'),
    node('Add', ['z', 'bias'], 'y'),
  ];
  const end = nodes.findIndex(({ outputs }) => outputs[0] === last);
  const outputs = [last, ...(also === undefined ? [] : [also])];
  const info = (name: string) => ({ name, dataType: 'float32' as const });
  return {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'g',
      inputs: [{ ...info('x'), shape }],
      outputs: outputs.map(info),
      nodes: nodes.slice(0, end + 1),
      initializers,
      values: new Map(),
    },
  };
}

const operators = ({ graph }: Model) => graph.nodes.map(({ opType }) => opType);

async function fusedModel(variant: Variant): Promise<Model> {
  const backend = await createHeapBackend();
  return fuseLayerNormalization(model(variant), { backend, shapes: {} });
}

const fusing: readonly Variant[] = [
  {},
  { power: 'Mul' },
  { power: 'again' },
  { axes: [2, 3] },
  { axes: [-3, -2, -1], parameters: 'scale' },
  { parameters: 'none' },
];

test.each(fusing)('%j becomes LayerNormalization', async (variant) => {
  const [before, after] = [model(variant), await fusedModel(variant)];
  expect(operators(after)).toEqual(['LayerNormalization']);
  const backend = await createHeapBackend();
  const x = random(shape);
  const run = async (one: Model) => {
    const session = await backend.createSession(saveModel(one).bytes);
    return runWhole(session, backend, { x });
  };
  const withParameters = {
    ...after,
    graph: {
      ...after.graph,
      initializers: new Map([...after.graph.initializers, ...before.graph.initializers]),
    },
  };
  // Random parameters: those of the model that was rewritten.
  const [expected, given] = await Promise.all([run(before), run(withParameters)]);
  for (const [name, tensor] of Object.entries(expected))
    expect(tensorDifference(tensor, given[name])).toBeUndefined();
});

describe('stays', () => {
  const reasons: readonly [string, Variant][] = [
    ['where channels before the last are normalised', { axes: [1] }],
    ['where the power is another', { exponent: 3 }],
    ['where variance is taken over other axes', { axes: [2, 3], varianceAxes: [3] }],
    ['where the mean is an output too', { also: 'mean' }],
    ['where the deviation is an output too', { also: 'd' }],
  ];
  test.each(reasons)('%s', async (_, variant) => {
    expect(operators(await fusedModel(variant))).toEqual(operators(model(variant)));
  });

  test('a scale of another shape stays behind it', async () => {
    expect(operators(await fusedModel({ scaleDims: [1] }))).toEqual(['LayerNormalization', 'Mul', 'Add']);
  });
});
