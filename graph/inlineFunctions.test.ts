import { describe, expect, it } from 'vitest';
import { unnamed } from '../tests/support/dividedAnswer.ts';
import { type OwnFunction, ownDomain, withFunctions } from '../tests/support/functionModel.ts';
import type { Graph, Node } from './graph.ts';
import { loadModel } from './load.ts';
import { printGraph } from './print.ts';

const call = (...args: Parameters<typeof unnamed>): Node => ({ ...unnamed(...args), domain: ownDomain });
const inner = (opType: string, input: string[], output: string[], domain = '') => ({
  opType,
  input,
  output,
  domain,
  attribute: [],
});

function loaded(nodes: readonly Node[], functions: readonly OwnFunction[]) {
  const graph: Graph = {
    name: 'test',
    inputs: [{ name: 'x', dataType: 'float32', shape: [4] }],
    outputs: [{ name: 'y', dataType: 'float32' }],
    nodes,
    initializers: new Map(),
    values: new Map(),
  };
  return loadModel(withFunctions(graph, functions));
}

/** The nodes as `output = Operator(inputs)`. */
function inlined(nodes: readonly Node[], functions: readonly OwnFunction[]): readonly string[] {
  return printGraph(loaded(nodes, functions).graph)
    .split('\n')
    .filter((line) => line.includes(' = '))
    .map((line) =>
      line
        .replace(/#.*/, '')
        .replace(/: float32\S*/, '')
        .trim(),
    );
}

const several: OwnFunction = {
  name: 'Several',
  input: ['x'],
  output: ['one', 'x', 'two'],
  node: [inner('Neg', ['x'], ['one']), inner('Abs', ['one'], ['two'])],
};

describe('inlineFunctions', () => {
  it('passes an input on, and makes what nobody takes under a name of its own', () => {
    expect(inlined([call('Several', ['x'], ['a', 'y'])], [several])).toEqual([
      'a = Neg(x)',
      'Several/two = Abs(a)',
      'y = Identity(x)',
    ]);
  });

  it('gives every call values of its own', () => {
    const nodes = [
      call('Several', ['x'], ['Several/two']),
      call('Several', ['Several/two'], ['']),
      call('Several', ['x'], ['', '', 'y']),
    ];
    expect(inlined(nodes, [several])).toEqual([
      'Several/two = Neg(x)',
      'Several/two_1 = Abs(Several/two)',
      'Several/one = Neg(Several/two)',
      'Several/two_2 = Abs(Several/one)',
      'Several/one_1 = Neg(x)',
      'y = Abs(Several/one_1)',
    ]);
  });

  it("leaves ONNX's own operators alone, as onnxruntime does", () => {
    const relu: OwnFunction = { ...several, name: 'Relu', domain: 'ai.onnx' };
    expect(inlined([unnamed('Relu', ['x'], ['y'])], [relu])).toEqual(['y = Relu(x)']);
  });

  it('imports the domains that bodies need', () => {
    const node = [inner('Gelu', ['x'], ['one'], 'com.microsoft')];
    const own: OwnFunction = { ...several, output: ['one'], node, opsets: { 'com.microsoft': 1 } };
    const { opsets } = loaded([call('Several', ['x'], ['y'])], [own]);
    expect([...opsets]).toEqual([
      ['', 18],
      ['com.microsoft', 1],
    ]);
  });

  it('refuses in one sentence', () => {
    const f = (name: string, ...called: string[]): OwnFunction => ({
      ...several,
      name,
      output: ['y'],
      node: called.map((one, i) => inner(one, ['x'], [i === 0 ? 'y' : `unused${i}`], ownDomain)),
    });
    const doubling = Array.from({ length: 60 }, (_, i) => f(`F${i}`, `F${i + 1}`, `F${i + 1}`));
    const end: OwnFunction = { ...f('F60'), node: [inner('Neg', ['x'], ['y'])] };
    const old: OwnFunction = { ...several, node: [inner('ReduceSum', ['x'], ['one'])], opsets: { '': 11 } };
    const cases: readonly (readonly [readonly Node[], readonly OwnFunction[], RegExp])[] = [
      [[call('A', ['x'], ['y'])], [f('A', 'B'), f('B', 'A')], /"A" calls itself/],
      [[call('F0', ['x'], ['y'])], [...doubling, end], /more than 200000 nodes/],
      [[call('Several', ['x'], ['y'])], [old], /"Several" holds ReduceSum of opset 11.*18/],
      [[call('Several', ['x', 'x'], ['y'])], [several], /"Several" is called with more inputs/],
    ];
    for (const [nodes, functions, expected] of cases) {
      expect(() => loaded(nodes, functions)).toThrow(expected);
    }
  });
});
