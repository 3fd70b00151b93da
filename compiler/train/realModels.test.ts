import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { sharedPath } from '../../eval/cacheDir.ts';
import { loadModel } from '../../graph/load.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { normaliseModel } from '../normalise/normaliseModel.ts';
import { differentiate } from './autodiff/differentiate.ts';
import { appendLoss } from './losses.ts';
import { parametersOf, weightNames } from './parameters.ts';
import { createRunner } from './runGraph.ts';
import { weightsAsInputs } from './trainingGraph.ts';

const backend = await createHeapBackend();

interface RealModel {
  readonly file: string;
  readonly shape?: readonly number[];
  /** Deviation of the random input. */
  readonly scale: number;
  /** Deviation of the random target; 0 where the output is small beside any noise. */
  readonly target?: number;
}

const models: readonly RealModel[] = [
  { file: 'resnet20-cifar10', shape: [2, 3, 32, 32], scale: 1 },
  { file: 'mobilenet-v1-0.25-imagenet', scale: 0.5 },
  { file: 'espcn-x3', shape: [1, 1, 12, 10], scale: 0.3 },
  { file: 'esrgan-slim-x4', shape: [1, 3, 10, 9], scale: 0.3 },
  { file: 'espnet-camvid', scale: 1 },
  { file: 'yolox-nano-coco', scale: 60 },
  { file: 'deit-tiny-random-weights', shape: [1, 3, 224, 224], scale: 1, target: 0.1 },
];

test.each(models)(
  '$file: moving all weights along the gradient changes the loss by its square',
  async (model) => {
    const path = sharedPath(`models/${model.file}.onnx`);
    if (path === undefined) {
      console.warn(`skipped: ../shared/models/${model.file}.onnx is not on this machine`);
      return;
    }
    const loaded = loadModel(new Uint8Array(await readFile(path)));
    const [input] = loaded.graph.inputs;
    const shapes = model.shape === undefined ? {} : { [input?.name ?? '']: model.shape };
    const { graph } = await normaliseModel(loaded, { backend, shapes });
    const output = graph.outputs[0]?.name ?? '';
    const weights = weightNames(graph);
    const { graph: withLoss, loss } = appendLoss(graph, [
      { type: 'squared', output, target: 'target', weight: 1 },
    ]);
    const { graph: full, gradients } = differentiate(withLoss, loss, weights);
    expect(gradients.size).toBe(weights.length);
    const runner = await createRunner(backend, weightsAsInputs(full, weights));
    const random = seededRandom(11);
    const feeds = new Map<string, Tensor>();
    for (const { name, shape } of withLoss.inputs) {
      const noise = float32View(randomTensor('float32', (shape ?? []).map(Number), random));
      const factor = name === 'target' ? (model.target ?? 0) : model.scale;
      feeds.set(
        name,
        float32Tensor(
          (shape ?? []).map(Number),
          noise.map((value) => factor * value),
        ),
      );
    }
    const parameters = parametersOf(graph, weights);
    for (const { dims, value } of parameters.values()) {
      // A head that begins at 0 would hide everything before it.
      if (dims.length > 1 && value.every((weight) => weight === 0))
        value.set(float32View(randomTensor('float32', dims, random)).map((weight) => 0.05 * weight));
    }
    for (const [name, { dims, value }] of parameters) feeds.set(name, float32Tensor(dims, value));
    const outputs = await runner.run(feeds);
    const value = float32View(outputs.get(loss))[0] ?? Number.NaN;
    let square = 0;
    for (const [, gradient] of gradients) for (const x of float32View(outputs.get(gradient))) square += x * x;
    expect(square).toBeGreaterThan(0);
    // A step that changes the loss by about 2 %: well above rounding, well below curvature.
    const step = (0.02 * value) / square;
    const lossAt = async (by: number): Promise<number> => {
      const moved = new Map(feeds);
      for (const [name, { dims, value: weight }] of parameters) {
        const gradient = float32View(outputs.get(gradients.get(name) ?? ''));
        moved.set(
          name,
          float32Tensor(
            dims,
            weight.map((w, i) => w + by * (gradient[i] ?? 0)),
          ),
        );
      }
      return float32View((await runner.run(moved)).get(loss))[0] ?? Number.NaN;
    };
    const slope = ((await lossAt(step / 2)) - (await lossAt(-step / 2))) / step;
    await runner.release();
    expect(slope / square).toBeGreaterThan(0.95);
    expect(slope / square).toBeLessThan(1.05);
  },
);
