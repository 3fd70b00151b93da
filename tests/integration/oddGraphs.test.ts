/**
 * Graphs as no exporter should write them, and as some do: each gives onnxruntime's answer from three devices, whatever the
 * axis. Those that are refused are in refusedGraphs.test.ts.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { DivisionAxis } from '../../compiler/compile.ts';
import type { Attribute, Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { type DataType, float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { answers, modelBytes, planAnswer, unnamed } from '../support/dividedAnswer.ts';
import { int, ints, random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

const pads = { pads: ints(1, 1, 1, 1) };
const typed = (name: string, dataType: DataType, ...shape: number[]): ValueInfo => ({
  name,
  dataType,
  shape,
});
const picture = typed('x', 'float32', 1, 3, 8, 8);
const out = (name: string, dataType: DataType = 'float32'): ValueInfo => ({ name, dataType });

interface Odd extends Partial<Omit<Graph, 'initializers'>> {
  readonly nodes: readonly Node[];
  readonly outputs: Graph['outputs'];
  readonly weights?: Readonly<Record<string, Tensor>>;
  readonly opset?: number;
}

function graphOf({ opset: _, weights = {}, ...odd }: Odd): Graph {
  return {
    name: 'odd',
    inputs: [picture],
    values: new Map(),
    initializers: new Map(Object.entries(weights)),
    ...odd,
  };
}

const two = { w: random([8, 3, 3, 3]), v: random([8, 8, 3, 3]) };
const conv = (input: string, weight: string, output: string) =>
  unnamed('Conv', [input, weight], [output], pads);
const named = (node: Node, name: string): Node => ({ ...node, name });

function subgraph(
  inputs: readonly ValueInfo[],
  nodes: readonly Node[],
  outputs: readonly string[],
  constants: Record<string, Tensor> = {},
): Attribute {
  const value: Graph = {
    name: 'body', inputs, nodes, values: new Map(), initializers: new Map(Object.entries(constants)),
    outputs: outputs.map((name) => ({ name, dataType: 'float32', untyped: true })),
  }; // biome-ignore format: one record
  return { type: 'graph', value };
}

/** Three times through a convolution of the graph outside, the state carried from one time to the next. */
const loop = unnamed('Loop', ['times', 'go', 'a'], ['b'], {
  body: subgraph(
    [typed('i', 'int64'), typed('goes', 'bool'), { name: 'state', dataType: 'float32' }],
    [
      unnamed('Identity', ['goes'], ['still']),
      unnamed('Conv', ['state', 'v'], ['c'], pads),
      unnamed('Tanh', ['c'], ['next']),
    ],
    ['still', 'next'],
  ),
});

const bool = (value: boolean): Tensor => ({ dataType: 'bool', dims: [], data: Uint8Array.of(value ? 1 : 0) });

const branches = {
  then_branch: subgraph([], [unnamed('Conv', ['a', 'v'], ['t'], pads)], ['t']),
  else_branch: subgraph([], [unnamed('Neg', ['a'], ['e'])], ['e']),
};

const longChain = Array.from({ length: 400 }, (_, i) =>
  unnamed(i % 3 === 0 ? 'Tanh' : 'Relu', [`h${i}`], [`h${i + 1}`]),
);

const odd: Readonly<Record<string, Odd>> = {
  'a Loop between convolutions': {
    nodes: [conv('x', 'w', 'a'), loop, conv('b', 'v', 'y')],
    outputs: [out('y')],
    weights: { ...two, times: int64Tensor([3], []), go: bool(true) },
  },
  'a Loop whose number of turns is an input': {
    inputs: [picture, typed('times', 'int64')],
    nodes: [conv('x', 'w', 'a'), loop, conv('b', 'v', 'y')],
    outputs: [out('y')],
    weights: { ...two, go: bool(true) },
  },
  'an If on an input': {
    inputs: [picture, typed('flag', 'bool')],
    nodes: [conv('x', 'w', 'a'), unnamed('If', ['flag'], ['b'], branches), conv('b', 'v', 'y')],
    outputs: [out('y')],
    weights: two,
  },
  'absent inputs in the middle': {
    nodes: [conv('x', 'w', 'a'), unnamed('Clip', ['a', '', 'most'], ['b']), unnamed('Resize', ['b', '', '', 'sizes'], ['y'])],
    outputs: [out('y')],
    weights: { w: two.w, most: float32Tensor([], [0.3]), sizes: int64Tensor([1, 8, 16, 8]) },
  },
  'an output that is used inside': {
    nodes: [conv('x', 'w', 'a'), unnamed('Relu', ['a'], ['b']), conv('b', 'v', 'y')],
    outputs: [out('a'), out('y'), out('b')],
    weights: two,
  },
  'an output that is an input': {
    nodes: [conv('x', 'w', 'a'), unnamed('Identity', ['x'], ['again'])],
    outputs: [out('a'), out('again')],
    weights: two,
  },
  'an output that is a constant': {
    nodes: [conv('x', 'w', 'a'), unnamed('Identity', ['w'], ['weights'])],
    outputs: [out('a'), out('weights')],
    weights: two,
  },
  'a value that is two outputs under two names': {
    nodes: [conv('x', 'w', 'a'), unnamed('Identity', ['a'], ['b']), unnamed('Identity', ['a'], ['c'])],
    outputs: [out('b'), out('c'), out('a')],
    weights: two,
  },
  'initializers among the inputs': {
    nodes: [conv('x', 'w', 'a'), conv('a', 'v', 'y')],
    outputs: [out('y')],
    weights: two,
    overridable: new Set(['w', 'v']),
  },
  'bytes in': {
    inputs: [typed('x', 'uint8', 1, 3, 8, 8)],
    nodes: [unnamed('Cast', ['x'], ['f'], { to: int(1) }), conv('f', 'w', 'a'), conv('a', 'v', 'y')],
    outputs: [out('y')],
    weights: two,
  },
  'half floats in and between': {
    inputs: [typed('x', 'float16', 1, 3, 8, 8)],
    nodes: [
      unnamed('Cast', ['x'], ['f'], { to: int(1) }),
      conv('f', 'w', 'a'),
      unnamed('Cast', ['a'], ['h'], { to: int(10) }),
      unnamed('Cast', ['h'], ['y'], { to: int(1) }),
    ],
    outputs: [out('y')],
    weights: two,
  },
  'integers and truths in': {
    inputs: [picture, typed('row', 'int64', 2), typed('mask', 'bool', 1, 1, 8, 8), typed('scale', 'float32')],
    nodes: [
      conv('x', 'w', 'a'),
      unnamed('Where', ['mask', 'a', 'zero'], ['b']),
      unnamed('Mul', ['b', 'scale'], ['c']),
      conv('c', 'v', 'd'),
      unnamed('Gather', ['d', 'row'], ['y'], { axis: int(2) }),
    ],
    outputs: [out('y')],
    weights: { ...two, zero: float32Tensor([], [0]) },
  },
  'an axis of length zero': {
    nodes: [
      conv('x', 'w', 'a'),
      unnamed('Slice', ['a', 'none', 'none', 'one'], ['b']),
      unnamed('Concat', ['a', 'b'], ['c'], { axis: int(1) }),
      conv('c', 'v', 'y'),
    ],
    outputs: [out('y'), out('b')],
    weights: { ...two, none: int64Tensor([0]), one: int64Tensor([1]) },
  },
  'scalars all the way': {
    nodes: [
      conv('x', 'w', 'a'),
      unnamed('ReduceMean', ['a'], ['m'], { keepdims: int(0) }),
      unnamed('Sqrt', ['m2'], ['r']),
      unnamed('Mul', ['m', 'm'], ['m2']),
      unnamed('Div', ['a', 'r'], ['b']),
      conv('b', 'v', 'y'),
    ],
    outputs: [out('y'), out('r')],
    weights: two,
  },
  'names that objects have': {
    inputs: [typed('constructor', 'float32', 1, 3, 8, 8)],
    nodes: [conv('constructor', 'w', 'toString'), unnamed('Relu', ['toString'], ['hasOwnProperty']), conv('hasOwnProperty', 'v', 'valueOf')],
    outputs: [out('valueOf')],
    weights: two,
  },
  'names with slashes, blanks and colons': {
    nodes: [conv('x', 'w', 'a/b:0'), unnamed('Relu', ['a/b:0'], [' c d ']), unnamed('Softmax', [' c d '], ['a/b:0/partial0'], { axis: int(1) }), conv('a/b:0/partial0', 'v', 'ü/statistics1')],
    outputs: [out('ü/statistics1')],
    weights: two,
  },
  'a very long chain': {
    nodes: [conv('x', 'w', 'h0'), ...longChain, conv('h400', 'v', 'y')],
    outputs: [out('y')],
    weights: two,
  },
}; // biome-ignore format: a table

const feedOf = ({ name, dataType, shape = [] }: ValueInfo): Tensor => {
  if (name === 'times') return int64Tensor([2], []);
  if (name === 'row') return int64Tensor([5, 1]);
  if (name === 'flag') return bool(true);
  // Bits of small numbers, whatever the bytes.
  if (dataType === 'float16')
    return {
      dataType,
      dims: shape.map(Number),
      data: new Uint8Array(2 * 192).map((_, i) => (i % 2 === 0 ? i : 0x38)),
    };
  return randomTensor(dataType, shape.map(Number), seededRandom(3));
};

const axes: readonly DivisionAxis[] = ['channels', 'rows'];
let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

describe.each(axes)('by %s', (axis) => {
  test.each(Object.entries(odd))('%s', async (_, one) => {
    const graph = graphOf({ ...one, nodes: sorted(one.nodes) });
    const feeds = Object.fromEntries(graph.inputs.map((input) => [input.name, feedOf(input)]));
    const bytes = modelBytes(graph, one.opset ?? 17);
    const { expected, outputs } = await answers(backend, bytes, feeds, { numShards: 3, axis });
    expect(Object.keys(outputs).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, tensor] of Object.entries(expected)) {
      expect(tensorDifference(tensor, outputs[name]), name).toBeUndefined();
    }
  });

  test.each([7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24])(
    'opset %d',
    async (opset) => {
      const graph = graphOf({
        nodes: [
          conv('x', 'w', 'a'),
          unnamed('Relu', ['a'], ['b']),
          unnamed('MaxPool', ['b'], ['c'], { kernel_shape: ints(2, 2), strides: ints(2, 2) }),
          conv('c', 'v', 'd'),
          unnamed('Add', ['c', 'd'], ['e']),
          unnamed('GlobalAveragePool', ['e'], ['f']),
          unnamed('Flatten', ['f'], ['g']),
          unnamed('Gemm', ['g', 'm', 'n'], ['h'], { transB: int(1) }),
          unnamed('Softmax', ['h'], ['y'], { axis: int(1) }),
        ],
        outputs: [out('y')],
        weights: { ...two, m: random([5, 8]), n: random([5]) },
      });
      const x = feedOf(picture);
      const { expected, outputs } = await answers(
        backend,
        modelBytes(graph, opset),
        { x },
        { numShards: 3, axis },
      );
      expect(tensorDifference(expected['y'] ?? x, outputs['y'])).toBeUndefined();
    },
  );
});

/** Nodes need not come in order in what tests write down; in files they do. */
function sorted(nodes: readonly Node[]): readonly Node[] {
  const made = new Set(nodes.flatMap(({ outputs }) => outputs));
  const done: Node[] = [];
  const has = (name: string) => !made.has(name) || done.some(({ outputs }) => outputs.includes(name));
  for (let left = [...nodes]; left.length > 0; ) {
    const next = left.find(({ inputs }) => inputs.every(has));
    if (next === undefined) throw new Error('The nodes go round in circles.');
    done.push(next);
    left = left.filter((node) => node !== next);
  }
  return done;
}

test('nodes of one name, which onnxruntime itself refuses, are told apart', async () => {
  const nodes = [conv('x', 'w', 'a'), unnamed('Relu', ['a'], ['b']), conv('b', 'v', 'y')];
  const bytes = (all: readonly Node[]) =>
    modelBytes(graphOf({ nodes: all, outputs: [out('y')], weights: two }), 17);
  const x = feedOf(picture);
  const { outputs } = await planAnswer(
    backend,
    bytes(nodes.map((node) => named(node, 'same'))),
    { x },
    { numShards: 3, axis: 'channels' },
  );
  const { expected } = await answers(backend, bytes(nodes), { x }, { numShards: 3, axis: 'channels' });
  expect(tensorDifference(expected['y'] ?? x, outputs['y'])).toBeUndefined();
});
