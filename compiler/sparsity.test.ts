/** Grouped pruning: what is reported gone is not executed, and the shards still compute what the pruned model computes whole. */
import { beforeAll, expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import type { Model } from '../graph/graph.ts';
import { float32Tensor, type Tensor } from '../graph/tensor.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';
import type { Placement, Program } from '../runtime/lower/program.ts';
import { wholeWeights } from '../runtime/weights/blob.ts';
import { blockNetwork, blockPictures } from '../tests/support/blockNetwork.ts';
import { openPrefix } from './calibrate/prefix.ts';
import { Comparator } from './measure/compare.ts';
import { openLocalRoom } from './measure/localRoom.ts';
import { scatteredZeros } from './plan/scatteredZeros.ts';
import { sparsify } from './sparsify.ts';

const numShards = 2;
const placement: Placement = [[0], [1]];
let backend: Backend;
let model: Model;
let pictures: Tensor;

beforeAll(async () => {
  backend = await createHeapBackend();
  model = await blockNetwork(backend, 12, 2);
  for (const batch of blockPictures(32, 32, 5).batches() as Iterable<Record<string, Tensor>>)
    pictures = batch['pictures'] ?? pictures;
});

const macsOf = (programs: readonly Program[]) => programs.reduce((sum, { macs }) => sum + macs, 0);
const prune = (sparsity: number, keep = 1) =>
  sparsify(
    model,
    { keep },
    { numShards, backend, calibration: blockPictures(128, 64), rows: 2000, sparsity },
  );

async function whole(graphModel: Model): Promise<Record<string, Tensor>> {
  const prefix = await openPrefix(graphModel, ['logits'], backend);
  const logits = (await prefix.run({ pictures })).get('logits');
  await prefix.release();
  return { logits: float32Tensor(logits?.dims ?? [0], logits?.data ?? []) };
}

function difference(expected: Readonly<Record<string, Tensor>>, got: Readonly<Record<string, Tensor>>) {
  const comparator = new Comparator();
  comparator.add(expected, got);
  return comparator.result();
}

test.each([0.5, 0.75, 0.9])('at a sparsity of %d no more is executed', async (sparsity) => {
  const dense = macsOf(lower(model.graph, { numShards, shardings: new Map() }, [[0, 1], []]).programs);
  const pruned = await prune(sparsity);
  const executed = macsOf(lower(pruned.model.graph, pruned.division, placement).programs);
  expect(executed).toBeLessThanOrEqual((1 - sparsity) * dense);
  // Not much more goes than was asked for: groups are small.
  expect(executed).toBeGreaterThan((1 - sparsity) * dense * 0.8);
  const plan = {
    model: pruned.model,
    division: pruned.division,
    openBatch: true,
    weights: wholeWeights(pruned.model),
  };
  const expected = await whole(pruned.model);
  for (const devices of [placement, [[0, 1]]]) {
    const room = await openLocalRoom({ planOf: () => plan, placement: devices, backend });
    expect(difference(expected, (await room.run({ pictures })).outputs).relativeError).toBeLessThan(1e-4);
    await room.close();
  }
});

test('fewer weights are further from the model, and half of them is still near', async () => {
  const expected = await whole(model);
  const errors: number[] = [];
  for (const sparsity of [0, 0.5, 0.9]) {
    errors.push(difference(expected, await whole((await prune(sparsity)).model)).relativeRms);
  }
  const [none = 1, half = 1, most = 0] = errors;
  expect(none).toBeLessThan(1e-4);
  expect(half).toBeLessThan(most);
  expect(half).toBeLessThan(0.5);
});

test('neurons that nobody reads are not made', async () => {
  const { model: pruned, division } = await prune(0.75);
  const { programs } = lower(pruned.graph, division, placement);
  const made = programs.reduce((sum, { types }) => sum + (types.get('rectified1')?.dims?.[1] ?? 0), 0);
  const of = model.graph.values.get('rectified1')?.shape?.[1];
  expect(made).toBeGreaterThan(0);
  expect(made).toBeLessThan(Number(of));
});

test('a sparsity that cannot be reached names the nearest', async () => {
  await expect(prune(0.9999)).rejects.toThrow(/nearest is 0\.\d+/);
});

test('zeros that are scattered are counted and save nothing', () => {
  const part = (offset: number) => ({ file: 0, offset, bytes: 8, box: {} });
  const tensors = {
    a: { dataType: 'float32' as const, dims: [2], parts: [part(0)] },
    b: { dataType: 'int32' as const, dims: [2], parts: [part(8)] },
  };
  const content = new Uint8Array(Float32Array.of(0, 1, 0, 0).buffer);
  expect(scatteredZeros(tensors, [content])).toEqual({ zeros: 1, weights: 2 });
});
