import { describe, expect, it } from 'vitest';
import { StarlingError } from '../protocol/errors.ts';
import type { Attribute, Graph, Node } from './graph.ts';
import { renameReads } from './rename.ts';
import { sortNodes, valuesRead } from './sort.ts';
import { float32Tensor } from './tensor.ts';
import { verifyGraph } from './verify.ts';

function node(
  name: string,
  inputs: string[],
  outputs: string[],
  attributes: Record<string, Attribute> = {},
): Node {
  return { name, opType: 'Op', domain: '', inputs, outputs, attributes: new Map(Object.entries(attributes)) };
}

function graph(nodes: readonly Node[], fields: Partial<Graph> = {}): Graph {
  return {
    name: 'g',
    inputs: [{ name: 'x', dataType: 'float32' }],
    outputs: [{ name: 'y', dataType: 'float32' }],
    nodes,
    initializers: new Map([['w', float32Tensor([1], [1])]]),
    values: new Map(),
    ...fields,
  };
}

function problem(invalid: Graph): string {
  try {
    verifyGraph(invalid);
  } catch (thrown) {
    if (thrown instanceof StarlingError && thrown.code === 'GRAPH_INVALID') return thrown.message;
    throw thrown;
  }
  return 'none';
}

const body = (reads: string): Attribute => ({
  type: 'graph',
  value: graph([node('inner', [reads], ['z'])], {
    inputs: [],
    initializers: new Map(),
    outputs: [{ name: 'z', dataType: 'float32' }],
  }),
});

describe('verifyGraph', () => {
  it('accepts a graph whose values are defined once, before their use', () => {
    const valid = graph([
      node('a', ['x', 'w', ''], ['p', '']),
      node('b', ['p'], ['y', ''], { body: body('p') }),
    ]);
    expect(verifyGraph(valid)).toBe(valid);
    expect(verifyGraph(graph([node('a', ['far'], ['y'])]), { defined: ['far'] })).toBeDefined();
  });

  it('names node and value of what is wrong', () => {
    const cases: readonly (readonly [Graph, RegExp])[] = [
      [
        graph([node('a', ['p'], ['y']), node('b', ['x'], ['p'])]),
        /"a" .*"p", which is defined only after it/,
      ],
      [graph([node('a', ['nowhere'], ['y'])]), /"a" .*"nowhere", which is defined nowhere/],
      [
        graph([node('a', ['x'], ['y']), node('b', ['x'], ['y'])]),
        /"y" is defined twice, by node "a".*and by node "b"/,
      ],
      [graph([node('a', ['x'], ['w', 'y'])]), /"w" is defined twice, by initializer "w"/],
      [graph([node('a', ['x'], ['p'])]), /output "y" is produced by no node/],
      [graph([node('a', ['x'], ['p']), node('a', ['p'], ['y'])]), /two nodes are named "a"/],
      [graph([node('', ['x'], ['y'])]), /no name/],
      [
        graph([node('a', ['x'], ['y'], { axis: { type: 'float', value: 1 } })]),
        /"a" .*"axis" of type float, expected int/,
      ],
      [graph([node('a', ['x'], ['y'], { body: body('later') })]), /"a" .*"later" in "body"/],
      [
        graph([node('a', ['x'], ['y'])], {
          initializers: new Map([['w', { ...float32Tensor([1], [1]), dims: [2] }]]),
        }),
        /"w"/,
      ],
      [
        graph([node('a', ['x'], ['y'])], {
          outputs: ['y', 'y'].map((name) => ({ name, dataType: 'float32' })),
        }),
        /"y" is listed twice/,
      ],
    ];
    for (const [invalid, expected] of cases) expect(problem(invalid)).toMatch(expected);
  });
});

describe('sortNodes', () => {
  it('puts producers first, through subgraphs too, and keeps an order that is right', () => {
    const nodes = [
      node('c', ['q'], ['y'], { body: body('p') }),
      node('b', ['x'], ['q']),
      node('a', ['x'], ['p']),
    ];
    expect(sortNodes(nodes).map(({ name }) => name)).toEqual(['b', 'a', 'c']);
    expect(sortNodes(sortNodes(nodes))).toEqual(sortNodes(nodes));
  });

  it('stands a chain longer than the call stack', () => {
    const chain = Array.from({ length: 20_000 }, (_, i) => node(`n${i}`, [`v${i}`], [`v${i + 1}`])).reverse();
    expect(sortNodes(chain).at(-1)?.name).toBe('n19999');
  });
});

describe('renameReads', () => {
  it('renames inputs and what subgraphs capture, but not what they define', () => {
    const renamed = renameReads(
      node('a', ['x', 'p'], ['y'], { body: body('p') }),
      new Map([
        ['p', 'r'],
        ['z', 's'],
      ]),
    );
    expect(valuesRead(renamed)).toEqual(['x', 'r']);
    const attribute = renamed.attributes.get('body');
    expect(attribute?.type === 'graph' && attribute.value.outputs[0]?.name).toBe('z');
  });
});
