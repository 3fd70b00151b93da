/** What files in the wild hold: unnamed nodes, absent inputs, several ends, scalars, int64 and bool, If and Loop, quantised layers. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel, type DivisionAxis } from '../../compiler/compile.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import type { Attribute, Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { openPlan } from '../../runtime/plan.ts';
import { fileWeights } from '../../runtime/weights/blob.ts';
import { int, ints, random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

function node(
  opType: string,
  inputs: string[],
  outputs: string[],
  attributes: Record<string, Attribute> = {},
): Node {
  return { name: '', opType, domain: '', inputs, outputs, attributes: new Map(Object.entries(attributes)) };
}

const untyped = (name: string): ValueInfo => ({ name, dataType: 'float32', untyped: true });
const pads = { pads: ints(1, 1, 1, 1) };
const bytesTensor = (...values: number[]): Tensor => ({
  dataType: 'uint8',
  dims: [],
  data: Uint8Array.from(values),
});

function branch(opType: string, output: string): Attribute {
  const fields = { name: output, inputs: [], initializers: new Map(), values: new Map() };
  return {
    type: 'graph',
    value: { ...fields, outputs: [untyped(output)], nodes: [node(opType, ['a'], [output])] },
  };
}

/** Two pictures and an index in; a map, an index and a truth out; a computed condition, and a node without readers. */
const mixed: Graph = {
  name: 'mixed',
  inputs: [
    { name: 'x', dataType: 'float32', shape: ['N', 3, 8, 8] },
    { name: 'second', dataType: 'float32', shape: ['N', 3, 8, 8] },
    { name: 'row', dataType: 'int64', shape: [1] },
  ],
  outputs: ['map', 'best', 'positive'].map(untyped),
  nodes: [
    node('Conv', ['x', 'w', ''], ['a'], pads),
    node('Conv', ['second', 'w', 'bias'], ['b'], pads),
    node('Sigmoid', ['b'], ['nobody']),
    node('ReduceMax', ['a'], ['most'], { keepdims: int(0) }),
    node('Greater', ['most', 'half'], ['c']),
    node('If', ['c'], ['d'], { then_branch: branch('Tanh', 't'), else_branch: branch('Neg', 'e') }),
    node('Add', ['d', 'b'], ['f']),
    node('Clip', ['f', '', 'half'], ['g']),
    node('Conv', ['g', 'v'], ['map'], pads),
    node('Gather', ['g', 'row'], ['line'], { axis: int(2) }),
    node('ArgMax', ['line'], ['best'], { axis: int(1) }),
    node('Greater', ['map', 'half'], ['positive']),
  ],
  initializers: new Map([
    ['w', random([8, 3, 3, 3])],
    ['v', random([6, 8, 3, 3])],
    ['bias', random([8])],
    ['half', float32Tensor([], [0.5])],
  ]),
  // A caller may replace what is listed among the inputs too.
  overridable: new Set(['bias']),
  values: new Map(),
};

const quantised: Graph = {
  name: 'quantised',
  inputs: [{ name: 'x', dataType: 'float32', shape: ['N', 3, 8, 8] }],
  outputs: [untyped('y')],
  nodes: [
    node('QuantizeLinear', ['x', 's', 'z'], ['q']),
    node('QLinearConv', ['q', 's', 'z', 'w', 's', 'z', 't', 'z'], ['r'], pads),
    node('QLinearConv', ['r', 't', 'z', 'v', 's', 'z', 't', 'z'], ['u'], pads),
    node('DequantizeLinear', ['u', 't', 'z'], ['y']),
  ],
  initializers: new Map<string, Tensor>([
    ['s', float32Tensor([], [0.02])],
    ['t', float32Tensor([], [0.5])],
    ['z', bytesTensor(128)],
    ['w', random([8, 3, 3, 3], 'uint8')],
    ['v', random([6, 8, 3, 3], 'uint8')],
  ]),
  values: new Map(),
};

const axes: readonly DivisionAxis[] = ['channels', 'rows'];
const graphs = { mixed, quantised };

describe.each(axes)('by %s', (axis) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  test.each(Object.entries(graphs))('%s', async (name, graph) => {
    const fields = { irVersion: 8, producer: '', metadata: new Map<string, string>() };
    const { bytes } = saveModel({ ...fields, opsets: new Map([['', 17]]), graph });
    const picture = (seed: number) => randomTensor('float32', [1, 3, 8, 8], seededRandom(seed));
    const all: Record<string, Tensor> = { x: picture(1), second: picture(2), row: int64Tensor([5]) };
    const inputs = Object.fromEntries(
      graph.inputs.map((input) => [input.name, all[input.name] ?? picture(3)]),
    );
    const session = await backend.createSession(bytes);
    const expected = await runWhole(session, backend, inputs);
    await session.release();
    const { files, plan: file } = await compileModel(bytes, { name, numShards: 3, axis, backend });
    const read = async (path: string) => files.get(path) ?? new Uint8Array();
    const plan = await openPlan(read);
    const weights = fileWeights(plan, await Promise.all(plan.file.weights.map(({ path }) => read(path))));
    const { model, division } = plan;
    const room = await openLocalRoom({
      planOf: () => ({ model, division, openBatch: false, weights, warmUp: false }),
      placement: [[0], [1], [2]],
      backend,
    });
    const { outputs } = await room.run(inputs);
    await room.close();
    expect(Object.keys(outputs).sort()).toEqual(Object.keys(expected).sort());
    for (const [output, tensor] of Object.entries(expected)) {
      expect(tensorDifference(tensor, outputs[output]), output).toBeUndefined();
    }
    // Quantised layers are divided, and the If is named with its reason.
    const replicated = file.report.replicated.map(({ opType, reason }) => `${opType}: ${reason}`);
    if (name === 'mixed') expect(replicated).toContain('If: its subgraph runs as it stands');
    else expect(replicated.filter((one) => one.startsWith('QLinear'))).toEqual([]);
  });
});
