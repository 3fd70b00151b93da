import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Attribute, Graph, Model, Node, ValueInfo } from '../../graph/graph.ts';
import { seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, int64Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { randomFeeds, randomFloats } from '../../tests/support/random.ts';
import { relativeDifference } from '../../tests/support/relativeDifference.ts';
import { runOnce } from '../../tests/support/runOnce.ts';
import { normaliseModel } from './normaliseModel.ts';

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

function node(
  opType: string,
  inputs: string[],
  outputs: string[],
  attributes: Record<string, Attribute> = {},
): Node {
  const name = `${opType}:${outputs.join()}`;
  return { name, opType, domain: '', inputs, outputs, attributes: new Map(Object.entries(attributes)) };
}

function small(nodes: readonly Node[], fields: Partial<Graph> = {}, opset = 17): Model {
  return {
    irVersion: 8,
    opsets: new Map([['', opset]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'small',
      inputs: [{ name: 'x', dataType: 'float32', shape: ['N', 3, 4, 4] }],
      outputs: [{ name: 'y', dataType: 'float32', untyped: true }],
      initializers: new Map(),
      values: new Map(),
      nodes,
      ...fields,
    },
  };
}

async function normalisedOperators(model: Model): Promise<readonly string[]> {
  const { model: result, graph } = await normaliseModel(model, { backend });
  const feeds = randomFeeds(graph.inputs, 2);
  const expected = await runOnce(backend, saveModel(model).bytes, feeds);
  expect(relativeDifference(await runOnce(backend, saveModel(result).bytes, feeds), expected)).toBeLessThan(
    1e-5,
  );
  return graph.nodes.map(({ opType }) => opType);
}

async function codeOf(promise: Promise<unknown>): Promise<string> {
  const thrown: unknown = await promise.then(
    () => 'nothing',
    (reason: unknown) => reason,
  );
  return thrown instanceof StarlingError ? `${thrown.code}: ${thrown.message}` : String(thrown);
}

const random = seededRandom(9);
const statistics = () => ({
  gamma: randomFloats(random, [3], 0.5, 2),
  beta: randomFloats(random, [3]),
  mean: randomFloats(random, [3]),
  variance: randomFloats(random, [3], 0.1, 3),
});
const normalise = (input: string, output: string) =>
  node('BatchNormalization', [input, 'gamma', 'beta', 'mean', 'variance'], [output]);

describe('normaliseModel', () => {
  it('folds batch normalisation into a convolution only where nothing else reads it', async () => {
    const weights = { w: randomFloats(random, [3, 3, 3, 3]), b: randomFloats(random, [3]), ...statistics() };
    const initializers = new Map(Object.entries(weights));
    const conv = node('Conv', ['x', 'w', 'b'], ['c']);
    expect(await normalisedOperators(small([conv, normalise('c', 'y')], { initializers }))).toEqual(['Conv']);
    const noBias = node('Conv', ['x', 'w'], ['c']);
    expect(await normalisedOperators(small([noBias, normalise('c', 'y')], { initializers }))).toEqual([
      'Conv',
    ]);
    const shared = [conv, normalise('c', 'n'), node('Add', ['c', 'n'], ['y'])];
    expect(await normalisedOperators(small(shared, { initializers }))).toEqual(['Conv', 'Mul', 'Add', 'Add']);
    expect(await normalisedOperators(small([normalise('x', 'y')], { initializers }))).toEqual(['Mul', 'Add']);
    const twice = [conv, normalise('c', 'n'), normalise('n', 'y')];
    expect(await normalisedOperators(small(twice, { initializers }))).toEqual(['Conv']);
  });

  it('removes identities, dropouts, unused nodes and what is constant', async () => {
    const nodes = [
      node('Identity', ['x'], ['a']),
      node('Dropout', ['a'], ['b', 'mask']),
      node('Relu', ['b'], ['c']),
      node('Sigmoid', ['b'], ['unused']),
      node('Shape', ['c'], ['s']),
      node('Constant', [], ['k'], { value_float: { type: 'float', value: 2 } }),
      node('Sqrt', ['k'], ['root']),
      node('Mul', ['c', 'root'], ['d']),
      node('Reshape', ['d', 's'], ['e']),
      node('Identity', ['e'], ['y']),
    ];
    expect(await normalisedOperators(small(nodes))).toEqual(['Relu', 'Mul', 'Reshape']);
  });

  it('keeps outputs that are inputs, constants, or asked for twice', async () => {
    const outputs = ['same', 'fixed', 'y', 'z'].map(
      (name): ValueInfo => ({ name, dataType: 'float32', untyped: true }),
    );
    const nodes = [
      node('Identity', ['x'], ['same']),
      node('Constant', [], ['k'], { value_float: { type: 'float', value: 2 } }),
      node('Neg', ['k'], ['fixed']),
      node('Relu', ['x'], ['r']),
      node('Identity', ['r'], ['y']),
      node('Identity', ['r'], ['z']),
    ];
    const operators = await normalisedOperators(small(nodes, { outputs }));
    expect([...operators].sort()).toEqual(['Identity', 'Identity', 'Identity', 'Relu']);
  });

  it('lifts what is inside subgraphs', async () => {
    const branch = (output: string, axes: number[]): Graph => ({
      ...small([], {}).graph,
      name: output,
      inputs: [],
      outputs: [{ name: output, dataType: 'float32', untyped: true }],
      nodes: [
        node('ReduceSum', ['r'], [output], {
          axes: { type: 'ints', value: axes },
          keepdims: { type: 'int', value: 1 },
        }),
      ],
    });
    const nodes = [
      node('Relu', ['x'], ['q']),
      node('Identity', ['q'], ['r']),
      node('ReduceMax', ['r'], ['m'], { keepdims: { type: 'int', value: 0 } }),
      node('Greater', ['m', 'half'], ['c']),
      node('If', ['c'], ['y'], {
        then_branch: { type: 'graph', value: branch('t', [1]) },
        else_branch: { type: 'graph', value: branch('e', [2]) },
      }),
    ];
    const initializers = new Map([['half', float32Tensor([], [0.5])]]);
    const operators = await normalisedOperators(small(nodes, { initializers }, 11));
    expect(operators).toEqual(['Relu', 'ReduceMax', 'Greater', 'If']);
  });

  it('takes the branch of a condition that is known, and of one within it', async () => {
    const graphOf = (output: string, nodes: Node[], initializers = new Map()): Graph => ({
      ...small([], {}).graph,
      name: output,
      inputs: [],
      outputs: [{ name: output, dataType: 'float32', untyped: true }],
      nodes,
      initializers,
    });
    // The same inner names in both; the inner condition is computed from a shape.
    const leaf = (opType: string) => graphOf('t', [node(opType, ['q'], ['t'])]);
    const shape = (input: string) => [
      node('Shape', [input], ['s']),
      node('ReduceMax', ['s'], ['m'], { keepdims: { type: 'int', value: 0 } }),
      node('Greater', ['m', 'three'], ['d']),
    ];
    const branches = (then: Graph, other: Graph): Record<string, Attribute> => ({
      then_branch: { type: 'graph', value: then },
      else_branch: { type: 'graph', value: other },
    });
    const inner = graphOf(
      't',
      [...shape('q'), node('If', ['d'], ['t'], branches(leaf('Sigmoid'), leaf('Tanh')))],
      new Map([['three', int64Tensor([3], [])]]),
    );
    const nodes = [
      node('Relu', ['x'], ['q']),
      node('Shape', ['q'], ['rank']),
      node('ReduceMax', ['rank'], ['most'], { keepdims: { type: 'int', value: 0 } }),
      node('Greater', ['most', 'hundred'], ['c']),
      node('If', ['c'], ['z'], branches(leaf('Neg'), inner)),
      node('Add', ['z', 'q'], ['y']),
    ];
    const initializers = new Map([['hundred', int64Tensor([100], [])]]);
    expect(await normalisedOperators(small(nodes, { initializers }))).toEqual(['Relu', 'Sigmoid', 'Add']);
  });

  it('says which shape to give', async () => {
    const open = small([node('Relu', ['x'], ['y'])], {
      inputs: [{ name: 'x', dataType: 'float32', shape: ['N', 3, 'height', null] }],
    });
    expect(await codeOf(normaliseModel(open, { backend }))).toMatch(
      /^SHAPE_OPEN: .*"height" and axis 3.*--shape x=1x3x224x224/,
    );
    const { graph } = await normaliseModel(open, { backend, shapes: { x: [2, 3, 5, 6] } });
    expect(graph.outputs[0]?.shape).toEqual([2, 3, 5, 6]);
    expect(await codeOf(normaliseModel(open, { backend, shapes: { x: [1, 4, 5, 6] } }))).toMatch(
      /^INPUT_INVALID: .*"x".*1x4x5x6/,
    );
    expect(await codeOf(normaliseModel(open, { backend, shapes: { z: [1] } }))).toMatch(
      /^INPUT_INVALID: .*"z".*"x"/,
    );
  });

  it('names the node it cannot lift or run', async () => {
    const spatial = node('BatchNormalization', ['x', 'g', 'g', 'g', 'g'], ['y'], {
      spatial: { type: 'int', value: 0 },
    });
    const g = randomFloats(random, [3, 4, 4], 0.5, 1);
    const per = small([spatial], { initializers: new Map([['g', g]]) }, 8);
    expect(await codeOf(normaliseModel(per, { backend }))).toMatch(
      /^MODEL_UNSUPPORTED: .*"BatchNormalization:y"/,
    );
    const unknown = small([node('Relu', ['x'], ['a']), node('NoSuchThing', ['a'], ['y'])]);
    expect(await codeOf(normaliseModel(unknown, { backend }))).toMatch(
      /^MODEL_UNSUPPORTED: .*"NoSuchThing:y"/,
    );
  });

  it('tries the batch: a fixed reshape opens, a transposed batch does not', async () => {
    const target = new Map([['s', int64Tensor([1, -1])]]);
    const flat = await normaliseModel(small([node('Reshape', ['x', 's'], ['y'])], { initializers: target }), {
      backend,
    });
    expect(flat.batchOpen).toBe(true);
    const perm: Attribute = { type: 'ints', value: [1, 0, 2, 3] };
    const turned = await normaliseModel(small([node('Transpose', ['x'], ['y'], { perm })]), { backend });
    expect(turned.batchOpen).toBe(false);
    const mixes = [node('ReduceMax', ['x'], ['m'], {}), node('Sub', ['x', 'm'], ['y'])];
    expect((await normaliseModel(small(mixes), { backend })).batchOpen).toBe(false);
  });
});
