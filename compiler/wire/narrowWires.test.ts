/** float16 and uint8 between shards: what they cost in error, that every placement computes the same, and that the bytes sent are the plan's. */
import { beforeAll, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Model } from '../../graph/graph.ts';
import { float32Tensor, float32View, type Tensor, tensorBytes } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { lower } from '../../runtime/lower/lower.ts';
import type { Placement, Transfer } from '../../runtime/lower/program.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import { blockNetwork, blockPictures } from '../../tests/support/blockNetwork.ts';
import type { Calibration } from '../calibrate/calibration.ts';
import { divideByChannels } from '../divide/divideChannels.ts';
import type { DividedGraph } from '../divide/dividedGraph.ts';
import { divideByRows } from '../divide/divideRows.ts';
import { Comparator } from '../measure/compare.ts';
import { openLocalRoom } from '../measure/localRoom.ts';
import { sparsify } from '../sparsify.ts';
import { narrowWires, type Wired } from './narrowWires.ts';

const numShards = 3;
const calibration = blockPictures(48, 16);
let backend: Backend;
let model: Model;
let pictures: Tensor;

beforeAll(async () => {
  backend = await createHeapBackend();
  model = await blockNetwork(backend, 12, 2);
  for await (const batch of calibration.batches()) pictures = batch['pictures'] ?? pictures;
});

type Kind = 'channels' | 'rows' | 'sparse';

async function divided(kind: Kind): Promise<Wired> {
  if (kind === 'sparse')
    return sparsify(model, { keep: 0.4 }, { numShards, calibration, backend, rows: 2000 });
  const dense: DividedGraph =
    kind === 'rows'
      ? divideByRows(model.graph, numShards)
      : { graph: model.graph, division: divideByChannels(model.graph, numShards) };
  return { model: { ...model, graph: dense.graph }, division: dense.division };
}

const options = () => ({ calibration, backend, openBatch: true });
const isolated: Placement = [[0], [1], [2]];
const placements: readonly Placement[] = [[[0, 1, 2]], [[0, 1], [2]], [[1], [2, 0]]];

async function run({ model: graphModel, division }: Wired, placement: Placement) {
  const plan = {
    model: graphModel,
    division,
    openBatch: true,
    weights: wholeWeights(graphModel),
    warmUp: false,
  };
  const room = await openLocalRoom({ planOf: () => plan, placement, backend });
  const result = await room.run({ pictures });
  await room.close();
  return { ...result, room: room.room };
}

const bytesOf = (list: readonly Pick<Transfer, 'dataType' | 'dims'>[]) =>
  list.reduce((sum, transfer) => sum + tensorBytes(transfer), 0);

function difference(expected: Readonly<Record<string, Tensor>>, got: Readonly<Record<string, Tensor>>) {
  const comparator = new Comparator();
  comparator.add(expected, got);
  return comparator.result().relativeRms;
}

test.each([
  { kind: 'channels', wire: 'float16', worst: 1e-3 },
  { kind: 'rows', wire: 'float16', worst: 1e-3 },
  { kind: 'sparse', wire: 'float16', worst: 1e-3 },
  { kind: 'channels', wire: 'uint8', worst: 2e-2 },
  { kind: 'rows', wire: 'uint8', worst: 2e-2 },
  { kind: 'sparse', wire: 'uint8', worst: 2e-2 },
] as const)('$wire over $kind', async ({ kind, wire, worst }) => {
  const plain = await divided(kind);
  const narrow = await narrowWires(plain.model, plain.division, { wire, ...options() });
  const alone = await run(narrow, isolated);
  const exact = await run(plain, isolated);
  const error = difference(exact.outputs, alone.outputs);
  expect(error).toBeLessThan(worst);
  // An error of nothing would mean that nothing was narrowed.
  expect(error).toBeGreaterThan(0);
  for (const placement of placements) {
    expect(difference(alone.outputs, (await run(narrow, placement)).outputs)).toBeLessThan(5e-3);
  }
});

test.each(['channels', 'sparse'] as const)(
  "%s: the bytes that the host sends and receives are the plan's",
  async (kind) => {
    const plain = await divided(kind);
    const wide = lower(plain.model.graph, plain.division, isolated).exchangedBytes;
    const narrow = await narrowWires(plain.model, plain.division, { wire: 'uint8', ...options() });
    // Only the few pooled features are not worth a quantum: 12 of them, a third each, to two others.
    const pooled = 4 * 12 * 2;
    expect(lower(narrow.model.graph, narrow.division, isolated).exchangedBytes).toBeLessThanOrEqual(
      (wide - pooled) / 4 + pooled,
    );
    const batch = pictures.dims[0] ?? 0;
    const { stats, room } = await run(narrow, isolated);
    const [host, ...others] = room.programs;
    const fed = bytesOf(others.flatMap(({ feeds }) => feeds));
    const given = bytesOf(others.flatMap(({ results }) => results));
    expect(stats.sentBytes).toBe(batch * (bytesOf(host?.sends ?? []) + fed));
    expect(stats.receivedBytes).toBe(batch * (bytesOf(host?.receives ?? []) + given));
  },
);

test('one scale for all features is coarser than one for each', async () => {
  const plain = await divided('channels');
  const exact = await run(plain, isolated);
  const errors: number[] = [];
  for (const scalePer of ['feature', 'tensor'] as const) {
    const narrow = await narrowWires(plain.model, plain.division, { wire: 'uint8', scalePer, ...options() });
    errors.push(difference(exact.outputs, (await run(narrow, isolated)).outputs));
  }
  const [feature = 0, tensor = 0] = errors;
  expect(feature).toBeLessThan(tensor);
});

test('what is half as large again as in all sample inputs does not saturate', async () => {
  const plain = await divided('channels');
  const samples = [...(calibration.batches() as Iterable<Readonly<Record<string, Tensor>>>)];
  const fainter: Calibration = {
    samples: calibration.samples,
    batches: () =>
      samples.map(({ pictures: all }) =>
        all === undefined
          ? {}
          : {
              pictures: float32Tensor(
                all.dims,
                float32View(all).map((value) => value / 1.5),
              ),
            },
      ),
  };
  const narrow = await narrowWires(plain.model, plain.division, {
    wire: 'uint8',
    ...options(),
    calibration: fainter,
  });
  const exact = await run(plain, isolated);
  expect(difference(exact.outputs, (await run(narrow, isolated)).outputs)).toBeLessThan(2e-2);
});

test('uint8 without samples is refused, float16 needs none', async () => {
  const plain = await divided('channels');
  const without = { backend, openBatch: true };
  await expect(narrowWires(plain.model, plain.division, { wire: 'uint8', ...without })).rejects.toThrow(
    StarlingError,
  );
  const { division } = await narrowWires(plain.model, plain.division, { wire: 'float16', ...without });
  expect(division.wires?.size).toBeGreaterThan(0);
});

test('numbers beyond the range of float16 travel as its largest', async () => {
  const initializers = new Map(model.graph.initializers);
  const bias = initializers.get('stem b');
  if (bias === undefined) throw new Error('The network has another shape.');
  initializers.set(
    'stem b',
    float32Tensor(
      bias.dims,
      float32View(bias).map(() => 1e6),
    ),
  );
  const large = { ...model, graph: { ...model.graph, initializers } };
  const division = divideByChannels(large.graph, numShards);
  const { outputs } = await run(
    await narrowWires(large, division, { wire: 'float16', ...options() }),
    isolated,
  );
  expect(float32View(outputs['logits'] ?? float32Tensor([0], [])).every(Number.isFinite)).toBe(true);
});
