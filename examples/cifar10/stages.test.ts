/** The example in small: some steps on made-up pictures show that its networks learn, are thinned, and become plans. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openPlanFolder } from '../../cli/planFolder.ts';
import { runCommandLine } from '../../cli/runCommandLine.ts';
import { readLog } from '../../cli/trainingFolder.ts';
import { openBatch } from '../../compiler/normalise/batchOpen.ts';
import { modelOf } from '../../compiler/train/runGraph.ts';
import { cifar10Classes } from '../../eval/cifar10.ts';
import { encodePng } from '../../eval/rgbImage.ts';
import type { Graph } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { tinyPictures } from '../../tests/support/tinyClassifier.ts';
import { residualNetwork } from './residualNetwork.ts';
import { exampleStages, type NetworkName } from './stages.ts';
import { visionTransformer } from './visionTransformer.ts';

const size = 32;

/** The example's networks, narrow. */
const networks: readonly (readonly [NetworkName, Graph])[] = [
  ['residual', residualNetwork(1, [8, 16, 16, 16])],
  ['transformer', visionTransformer(1, { depth: 1, width: 32, heads: 2 })],
];
let root = '';

/** Stripes of four kinds, enlarged to the size of CIFAR-10's pictures. */
async function writePictures(folder: string): Promise<void> {
  const { images, labels, size: from, count } = tinyPictures(60, 3);
  for (let i = 0; i < count; i++) {
    const data = Uint8Array.from({ length: 3 * size * size }, (_, at) => {
      const [x, y] = [Math.floor(at / 3) % size, Math.floor(at / 3 / size)].map((side) =>
        Math.floor((side * from) / size),
      );
      return images[((i * 3 + (at % 3)) * from + (y ?? 0)) * from + (x ?? 0)] ?? 0;
    });
    const path = join(folder, String(labels[i]));
    await mkdir(path, { recursive: true });
    await writeFile(join(path, `${i}.png`), encodePng({ width: size, height: size, data }));
  }
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'starling-example-'));
  await writePictures(join(root, 'pictures'));
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

test.each(networks)(
  '%s: learns from random weights, is thinned, and its plans open',
  { timeout: 300_000 },
  async (network, graph) => {
    const out = join(root, network);
    await mkdir(out);
    const model = openBatch(modelOf(graph));
    await writeFile(join(out, 'random.onnx'), saveModel(model).bytes);
    const common = { data: join(root, 'pictures'), batch: '8', backend: 'wasm', owners: 'contiguous' };
    const stages = exampleStages({
      network,
      out,
      steps: 40,
      thinSteps: 14,
      shards: [2],
      common: Object.entries(common).flatMap(([option, value]) => [`--${option}`, value]),
    });
    for (const stage of stages) {
      const errors: string[] = [];
      const stderr = { isTTY: false, columns: 80, write: (text: string) => errors.push(text) > 0 };
      expect(await runCommandLine(stage, { print: () => {}, stderr }), errors.join('')).toBe(0);
    }
    const losses = (await readLog(join(out, 'dense', 'log.jsonl'))).flatMap(({ type, loss }) =>
      type === 'train' && loss !== undefined ? [loss] : [],
    );
    expect(losses.at(-1)).toBeLessThan(0.9 * (losses[0] ?? 0));
    const [dense, sparse] = await Promise.all(
      ['dense-2', 'sparse-2'].map((plan) => openPlanFolder(join(out, 'plans', plan))),
    );
    expect(dense?.file.inputs[0]?.dataType).toBe('uint8');
    expect(dense?.file.sparse).toBeUndefined();
    const { sentFeatures = 0, denseFeatures = 0 } = sparse?.file.sparse ?? {};
    expect(sentFeatures).toBeGreaterThan(0);
    expect(sentFeatures).toBeLessThan(denseFeatures);
    expect(sparse?.file.classes).toEqual(cifar10Classes);
    expect(sparse?.file.report.exchangedBytes).toBeLessThan(dense?.file.report.exchangedBytes ?? 0);
  },
);
