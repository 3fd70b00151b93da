/** What the graph says of its batch is what trying it says; where it says nothing, nothing is claimed. */
import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Attribute, Graph, Model, Node } from '../../graph/graph.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { int, ints, random } from '../../tests/support/operatorCase.ts';
import { randomModel } from '../../tests/support/randomGraph.ts';
import { triesBatch } from './batchOpen.ts';
import { batchAxis } from './batchwise.ts';

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

interface Case {
  readonly opType: string;
  readonly attributes?: Record<string, Attribute>;
  /** Inputs after x [1, 6, 4, 4]; 'x' again or a constant. */
  readonly others?: readonly (Tensor | 'x' | null)[];
  /** Default x's own. */
  readonly shape?: readonly number[];
  readonly axis: ReturnType<typeof batchAxis>;
}

const column = (...values: number[]) => int64Tensor(values);
const plain = [1, 6, 4, 4];

const cases: readonly Case[] = [
  { opType: 'Conv', others: [random([6, 6, 1, 1])], axis: 'open' },
  { opType: 'Add', others: [random([6, 1, 1])], axis: 'open' },
  { opType: 'Add', others: ['x'], axis: 'open' },
  { opType: 'Concat', attributes: { axis: int(1) }, others: ['x'], shape: [1, 12, 4, 4], axis: 'open' },
  { opType: 'Concat', attributes: { axis: int(1) }, others: [random(plain)], shape: [1, 12, 4, 4], axis: 'closed' },
  { opType: 'Concat', attributes: { axis: int(0) }, others: ['x'], shape: [2, 6, 4, 4], axis: 'unknown' },
  { opType: 'Softmax', attributes: { axis: int(1) }, axis: 'open' },
  { opType: 'Softmax', attributes: { axis: int(0) }, axis: 'unknown' },
  { opType: 'Transpose', attributes: { perm: ints(0, 2, 3, 1) }, shape: [1, 4, 4, 6], axis: 'open' },
  { opType: 'Reshape', others: [column(0, -1)], shape: [1, 96], axis: 'open' },
  { opType: 'Reshape', others: [column(1, 96)], shape: [1, 96], axis: 'closed' },
  { opType: 'Reshape', others: [column(-1, 96)], shape: [1, 96], axis: 'unknown' },
  { opType: 'Slice', others: [column(1), column(3), column(1)], shape: [1, 2, 4, 4], axis: 'open' },
  { opType: 'Slice', others: [column(0), column(1), column(0)], axis: 'unknown' },
  { opType: 'ReduceMean', attributes: { axes: ints(2, 3) }, shape: [1, 6, 1, 1], axis: 'open' },
  { opType: 'ReduceMean', attributes: { axes: ints(0, 1) }, shape: [1, 1, 4, 4], axis: 'unknown' },
  { opType: 'Resize', others: [null, float32Tensor([4], [1, 1, 2, 2])], shape: [1, 6, 8, 8], axis: 'open' },
  { opType: 'Resize', others: [null, null, column(1, 6, 8, 8)], shape: [1, 6, 8, 8], axis: 'unknown' },
  { opType: 'MatMul', others: [random([4, 4])], axis: 'open' },
  { opType: 'MatMul', others: ['x'], axis: 'open' },
  { opType: 'Gather', attributes: { axis: int(0) }, others: [column(0)], axis: 'unknown' },
  { opType: 'Pad', others: [column(0, 1, 0, 0, 0, 0, 0, 0)], shape: [1, 7, 4, 4], axis: 'open' },
  { opType: 'Tile', others: [column(1, 2, 1, 1)], shape: [1, 12, 4, 4], axis: 'open' },
]; // biome-ignore format: a table

function modelOf({ opType, attributes = {}, others = [], shape = plain }: Case): Model {
  const initializers = new Map<string, Tensor>();
  const inputs = others.map((other, i) => {
    if (other === null || other === 'x') return other ?? '';
    initializers.set(`c${i}`, other);
    return `c${i}`;
  });
  const entries = new Map(Object.entries(attributes));
  const node: Node = {
    name: 'n',
    opType,
    domain: '',
    inputs: ['x', ...inputs],
    outputs: ['y'],
    attributes: entries,
  };
  const graph: Graph = {
    name: 'one',
    inputs: [{ name: 'x', dataType: 'float32', shape: plain }],
    outputs: [{ name: 'y', dataType: 'float32', shape }],
    nodes: [node],
    initializers,
    values: new Map(),
  };
  return { irVersion: 8, opsets: new Map([['', 17]]), producer: '', metadata: new Map(), graph };
}

describe('isBatchwise', () => {
  it.each(cases.map((one) => [`${one.opType} ${one.axis}`, one] as const))('%s', async (_, one) => {
    const model = modelOf(one);
    expect(batchAxis(model.graph)).toBe(one.axis);
    // It never claims what trying refutes.
    if (one.axis !== 'unknown') expect(await triesBatch(model, backend)).toBe(one.axis === 'open');
  });

  it('knows networks of ordinary layers', async () => {
    const models = Array.from({ length: 12 }, (_, seed) => randomModel(seed, 8));
    for (const model of models)
      expect(batchAxis(model.graph) === 'open' && (await triesBatch(model, backend))).toBe(true);
  });

  it('claims nothing of operators that it does not know', () => {
    expect(batchAxis(modelOf({ opType: 'TopK', others: [column(2)], axis: 'unknown' }).graph)).toBe(
      'unknown',
    );
    expect(batchAxis(modelOf({ opType: 'DynamicQuantizeLinear', axis: 'unknown' }).graph)).toBe('unknown');
  });
});
