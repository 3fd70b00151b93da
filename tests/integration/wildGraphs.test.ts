/** What files in the wild hold: unnamed nodes, absent inputs, several ends, scalars, int64 and bool, If and Loop, quantised layers. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { DivisionAxis } from '../../compiler/compile.ts';
import type { Attribute, Graph, ValueInfo } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { answers, modelBytes, unnamed } from '../support/dividedAnswer.ts';
import { int, ints, random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

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
    value: { ...fields, outputs: [untyped(output)], nodes: [unnamed(opType, ['a'], [output])] },
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
    unnamed('Conv', ['x', 'w', ''], ['a'], pads),
    unnamed('Conv', ['second', 'w', 'bias'], ['b'], pads),
    unnamed('Sigmoid', ['b'], ['nobody']),
    unnamed('ReduceMax', ['a'], ['most'], { keepdims: int(0) }),
    unnamed('Greater', ['most', 'half'], ['c']),
    unnamed('If', ['c'], ['d'], { then_branch: branch('Tanh', 't'), else_branch: branch('Neg', 'e') }),
    unnamed('Add', ['d', 'b'], ['f']),
    unnamed('Clip', ['f', '', 'half'], ['g']),
    unnamed('Conv', ['g', 'v'], ['map'], pads),
    unnamed('Gather', ['g', 'row'], ['line'], { axis: int(2) }),
    unnamed('ArgMax', ['line'], ['best'], { axis: int(1) }),
    unnamed('Greater', ['map', 'half'], ['positive']),
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
    unnamed('QuantizeLinear', ['x', 's', 'z'], ['q']),
    unnamed('QLinearConv', ['q', 's', 'z', 'w', 's', 'z', 't', 'z'], ['r'], pads),
    unnamed('QLinearConv', ['r', 't', 'z', 'v', 's', 'z', 't', 'z'], ['u'], pads),
    unnamed('DequantizeLinear', ['u', 't', 'z'], ['y']),
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
    const picture = (seed: number) => randomTensor('float32', [1, 3, 8, 8], seededRandom(seed));
    const all: Record<string, Tensor> = { x: picture(1), second: picture(2), row: int64Tensor([5]) };
    const inputs = Object.fromEntries(
      graph.inputs.map((input) => [input.name, all[input.name] ?? picture(3)]),
    );
    const { expected, outputs, plan } = await answers(backend, modelBytes(graph, 17), inputs, {
      numShards: 3,
      axis,
    });
    expect(Object.keys(outputs).sort()).toEqual(Object.keys(expected).sort());
    for (const [output, tensor] of Object.entries(expected)) {
      expect(tensorDifference(tensor, outputs[output]), output).toBeUndefined();
    }
    // Quantised layers are divided, and the If is named with its reason.
    const replicated = plan.file.report.replicated.map(({ opType, reason }) => `${opType}: ${reason}`);
    if (name === 'mixed') expect(replicated).toContain('If: its subgraph runs as it stands');
    else expect(replicated.filter((one) => one.startsWith('QLinear'))).toEqual([]);
  });
});
