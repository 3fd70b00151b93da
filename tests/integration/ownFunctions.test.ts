/**
 * Models that bring functions of their own, as PyTorch's newer exporter and onnxscript write them: onnxruntime runs the file
 * as it is, three devices the parts of what its functions were inlined to.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { answers, unnamed } from '../support/dividedAnswer.ts';
import { type OwnFunction, ownDomain, withFunctions } from '../support/functionModel.ts';
import { float, ints, random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

const call = (...args: Parameters<typeof unnamed>): Node => ({ ...unnamed(...args), domain: ownDomain });
const conv = (input: string, weight: string, output: string) =>
  unnamed('Conv', [input, weight], [output], { pads: ints(1, 1, 1, 1) });

const floatOf = (name: string, value: number) => ({ name, type: 1, f: value });
const referred = (name: string, refAttrName: string, type = 1) => ({ name, refAttrName, type });
const inner = (opType: string, input: string[], output: string[], attribute: object[] = [], domain = '') => ({
  opType,
  input,
  output,
  attribute,
  domain,
});
const branch = (name: string, node: object[], output: string) => ({
  name,
  type: 5,
  g: { name, node, output: [{ name: output }] },
});

interface Case {
  readonly functions: readonly OwnFunction[];
  /** Between the convolutions `x` -> `a` and `b` -> `y`. */
  readonly nodes: readonly Node[];
  readonly overloads?: Readonly<Record<string, string>>;
  readonly outputs?: readonly string[];
  readonly weights?: Readonly<Record<string, Tensor>>;
}

const elu: OwnFunction = {
  name: 'MyElu',
  input: ['x'],
  output: ['y'],
  attribute: ['slope'],
  node: [inner('Elu', ['x'], ['y'], [referred('alpha', 'slope')])],
};

/** The names of its body are those of the graph around. */
const gate: OwnFunction = {
  name: 'Gate',
  input: ['a', 'b'],
  output: ['y'],
  node: [
    inner('Sigmoid', ['b'], ['x']),
    inner('Mul', ['a', 'x'], ['c']),
    inner('MyElu', ['c'], ['y'], [floatOf('slope', 0.3)], ownDomain),
  ],
};

const cases: Readonly<Record<string, Case>> = {
  'an attribute that is given': {
    functions: [elu],
    nodes: [call('MyElu', ['a'], ['b'], { slope: float(0.4) })],
  },
  'an attribute that nobody gives': { functions: [elu], nodes: [call('MyElu', ['a'], ['b'])] },
  'an attribute by default': {
    functions: [{ ...elu, attribute: [], defaults: [floatOf('slope', 2.5)] }],
    nodes: [call('MyElu', ['a'], ['c']), call('MyElu', ['c'], ['b'], { slope: float(0.1) })],
  },
  'functions in functions, called twice, with names of the graph': {
    functions: [gate, elu],
    nodes: [
      unnamed('Neg', ['a'], ['c']),
      call('Gate', ['a', 'c'], ['d']),
      call('Gate', ['d', 'a'], ['Gate/x']),
      unnamed('Add', ['Gate/x', 'd'], ['b']),
    ],
  },
  'inputs that are left out': {
    functions: [
      {
        name: 'Between',
        input: ['x', 'low', 'high'],
        output: ['y'],
        node: [inner('Clip', ['x', 'low', 'high'], ['y'])],
      },
    ],
    nodes: [
      call('Between', ['a', '', 'most'], ['c']),
      call('Between', ['c', 'least'], ['d']),
      call('Between', ['d'], ['b']),
    ],
    weights: { most: float32Tensor([], [0.3]), least: float32Tensor([], [-0.2]) },
  },
  'outputs that are left out': {
    functions: [
      {
        name: 'Several',
        input: ['x'],
        output: ['first', 'second', 'third'],
        node: [
          inner('Tanh', ['x'], ['first']),
          inner('Neg', ['first'], ['second']),
          inner('Exp', ['x'], ['third']),
        ],
      },
    ],
    nodes: [
      call('Several', ['a'], ['c', '', 'd']),
      call('Several', ['c'], ['e', 'f', '']),
      unnamed('Sum', ['c', 'd', 'e', 'f'], ['b']),
    ],
    outputs: ['y', 'e'],
  },
  'an If inside, which reads and refers to what is outside of it': {
    functions: [
      {
        name: 'Either',
        input: ['x', 'limit'],
        output: ['y'],
        attribute: ['slope'],
        node: [
          inner('ReduceMax', ['x'], ['m'], [{ name: 'keepdims', type: 2, i: 0 }]),
          inner('Greater', ['m', 'limit'], ['yes']),
          inner(
            'If',
            ['yes'],
            ['y'],
            [
              branch('then_branch', [inner('Elu', ['x'], ['t'], [referred('alpha', 'slope')])], 't'),
              branch('else_branch', [inner('Add', ['x', 'm'], ['e'])], 'e'),
            ],
          ),
        ],
      },
    ],
    nodes: [
      call('Either', ['a', 'little'], ['c'], { slope: float(0.3) }),
      call('Either', ['c', 'much'], ['b'], { slope: float(0.7) }),
    ],
    weights: { little: float32Tensor([], [-100]), much: float32Tensor([], [100]) },
  },
  'a call in a branch': {
    functions: [gate, elu],
    nodes: [
      unnamed('ReduceMax', ['a'], ['m'], { keepdims: { type: 'int', value: 0 } }),
      unnamed('Cast', ['m'], ['yes'], { to: { type: 'int', value: 9 } }),
      unnamed('If', ['yes'], ['b'], {
        then_branch: { type: 'graph', value: branchGraph([call('Gate', ['a', 'a'], ['t'])], 't') },
        else_branch: { type: 'graph', value: branchGraph([unnamed('Neg', ['a'], ['e'])], 'e') },
      }),
    ],
  },
  'two of one name': {
    functions: [
      { ...elu, overload: 'steep', node: [inner('Selu', ['x'], ['y'])], attribute: [] },
      { ...elu, overload: 'flat' },
    ],
    nodes: [
      { ...call('MyElu', ['a'], ['c'], { slope: float(0.4) }), name: 'one' },
      { ...call('MyElu', ['c'], ['b']), name: 'other' },
    ],
    overloads: { one: 'flat', other: 'steep' },
  },
  'tensors and lists as attributes': {
    functions: [
      {
        name: 'Scaled',
        input: ['x'],
        output: ['y'],
        attribute: ['by', 'over'],
        node: [
          inner('Constant', [], ['c'], [referred('value', 'by', 4)]),
          inner('Transpose', ['x'], ['t'], [referred('perm', 'over', 7)]),
          inner('Mul', ['t', 'c'], ['u']),
          inner('Transpose', ['u'], ['y'], [referred('perm', 'over', 7)]),
        ],
      },
    ],
    nodes: [
      call('Scaled', ['a'], ['b'], {
        by: { type: 'tensor', value: random([8]) },
        over: ints(0, 3, 2, 1),
      }),
    ],
  },
  'an older opset, for operators that mean the same in it': {
    functions: [{ ...elu, opsets: { '': 17 } }],
    nodes: [call('MyElu', ['a'], ['b'], { slope: float(0.4) })],
  },
};

function branchGraph(nodes: readonly Node[], output: string): Graph {
  const fields = { name: output, inputs: [], initializers: new Map(), values: new Map() };
  return { ...fields, nodes, outputs: [{ name: output, dataType: 'float32', untyped: true }] };
}

function bytesOf({ functions, nodes, overloads = {}, outputs = ['y'], weights = {} }: Case): Uint8Array {
  const output = (name: string): ValueInfo => ({ name, dataType: 'float32' });
  const graph: Graph = {
    name: 'calls',
    inputs: [{ name: 'x', dataType: 'float32', shape: [1, 3, 8, 8] }],
    outputs: outputs.map(output),
    nodes: [conv('x', 'w', 'a'), ...nodes, conv('b', 'v', 'y')],
    initializers: new Map(Object.entries({ w: random([8, 3, 3, 3]), v: random([6, 8, 3, 3]), ...weights })),
    values: new Map(),
  };
  return withFunctions(graph, functions, { overloads });
}

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

describe.each(['channels', 'rows'] as const)('by %s', (axis) => {
  test.each(Object.entries(cases))('%s', async (_, one) => {
    const bytes = bytesOf(one);
    const x = randomTensor('float32', [1, 3, 8, 8], seededRandom(5));
    const { expected, outputs } = await answers(backend, bytes, { x }, { numShards: 3, axis });
    expect(Object.keys(outputs).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, tensor] of Object.entries(expected)) {
      expect(tensorDifference(tensor, outputs[name]), name).toBeUndefined();
    }
  });
});

test('what is left imports nothing that only functions were in', () => {
  const { opsets, graph } = loadModel(bytesOf({ functions: [elu], nodes: [call('MyElu', ['a'], ['b'])] }));
  expect([...opsets]).toEqual([['', 18]]);
  expect(graph.nodes.map(({ name, opType }) => [name, opType])).toContainEqual(['MyElu/Elu', 'Elu']);
});
