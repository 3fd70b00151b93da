/** A sweep writes a plan for every ratio, each measured on inputs that nothing was fitted to. */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { openPrefix } from '../compiler/calibrate/prefix.ts';
import { saveModel } from '../graph/save.ts';
import { writeNpy } from '../protocol/npy.ts';
import { parsePlan } from '../protocol/plan.ts';
import { blockNetwork, blockPictures } from '../tests/support/blockNetwork.ts';
import { runCommandLine } from './runCommandLine.ts';
import { parseSweep, sweep } from './sweep.ts';

test('ratios are sorted, each once; others are refused', () => {
  expect(parseSweep('1,0,0.2,0')).toEqual([0, 0.2, 1]);
  for (const text of ['', '0,', 'a', '2', '-1']) expect(() => parseSweep(text)).toThrow(/--sweep/);
});

test('a ratio of its own is refused beside those of a sweep', async () => {
  const options = { sparse: { budget: { keep: 0.2 } } };
  await expect(sweep(new Uint8Array(), options as never, [0, 1], 'out')).rejects.toThrow(/leave --keep away/);
});

test('compile --sweep: plans, table, JSON and a picture; labels give accuracy', async () => {
  const backend = await createHeapBackend();
  const model = await blockNetwork(backend, 8, 1);
  const pictures = blockPictures(300, 300);
  const prefix = await openPrefix(model, ['logits'], backend);
  const folder = await mkdtemp(join(tmpdir(), 'starling-sweep-'));
  for await (const batch of pictures.batches()) {
    const { pictures: array } = batch;
    const scores = (await prefix.run(batch)).get('logits')?.data ?? new Float32Array(0);
    if (array === undefined) continue;
    await writeFile(
      join(folder, 'inputs.npy'),
      writeNpy({ dataType: 'float32', dims: array.dims, data: array.data }),
    );
    // What the model itself decides: its accuracy is then 1, and that of a plan its agreement.
    const labels = Int32Array.from({ length: 300 }, (_, i) => {
      const row = [...scores.subarray(i * 5, (i + 1) * 5)];
      return row.indexOf(Math.max(...row));
    });
    await writeFile(
      join(folder, 'labels.npy'),
      writeNpy({ dataType: 'int32', dims: [300], data: new Uint8Array(labels.buffer) }),
    );
  }
  await prefix.release();
  await writeFile(join(folder, 'model.onnx'), saveModel(model).bytes);
  const lines: string[] = [];
  const arguments_ = `compile ${folder}/model.onnx --shards 2 --out ${folder}/out --calibrate ${folder}/inputs.npy --labels ${folder}/labels.npy --backend wasm --sweep 1,0,0.3`;
  const terminal = { print: (line: string) => lines.push(line), stderr: { isTTY: false, write: () => true } };
  expect(await runCommandLine(arguments_.split(' '), terminal as never)).toBe(0);
  expect(lines.join('\n').split('\n')).toHaveLength(5);
  const points = JSON.parse(await readFile(join(folder, 'out/sweep.json'), 'utf8'));
  expect(points.map(({ keptRatio }: { keptRatio: number }) => Math.round(10 * keptRatio))).toEqual([
    0, 3, 10,
  ]);
  const plans = await Promise.all(
    ['0', '0.3', '1'].map(async (keep) =>
      parsePlan(await readFile(join(folder, `out/keep-${keep}/plan.json`), 'utf8')),
    ),
  );
  const [none, some, all] = plans.map(({ report, sparse }) => ({ ...report, ...sparse }));
  expect(all?.exchangedBytes).toBe(all?.dense?.exchangedBytes);
  expect(all?.heldOut).toMatchObject({ samples: 100, agreement: 1, accuracy: 1, originalAccuracy: 1 });
  expect(all?.heldOut?.relativeRms).toBeLessThan(1e-5);
  for (const [less, more] of [
    [none, some],
    [some, all],
  ] as const) {
    expect(less?.exchangedBytes).toBeLessThan(more?.exchangedBytes ?? 0);
    expect(less?.heldOut?.relativeRms).toBeGreaterThan(more?.heldOut?.relativeRms ?? 1);
    expect(less?.heldOut?.accuracy).toBe(less?.heldOut?.agreement);
    expect(less?.dense).toEqual(all?.dense);
  }
  const svg = await readFile(join(folder, 'out/sweep.svg'), 'utf8');
  expect(svg.match(/<circle/g)?.length).toBeGreaterThanOrEqual(3 * 6);
}, 240_000);
