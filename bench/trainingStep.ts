/**
 * What one training step costs: a batch through a network with batch normalisation in training mode, its gradients
 * with labels and a teacher, and everything around it. Prints JSON; times are in milliseconds, the best and the median of
 * the wall clock, and the mean of the processor's, which says more where the machine is busy.
 *
 *   npx tsx bench/trainingStep.ts MODEL [native|wasm] [THREADS] [BATCH]
 */
import { readFile } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { createNodeBackend } from '../backends/ortNode.ts';
import { normaliseModel } from '../compiler/normalise/normaliseModel.ts';

import { insertBatchNorm } from '../compiler/train/insertBatchNorm.ts';
import { labelInput, objectiveTerms, teacherInput } from '../compiler/train/objective.ts';
import { optimiserStep } from '../compiler/train/optimiser.ts';
import { effectiveWeight, parametersOf, weightNames } from '../compiler/train/parameters.ts';
import { type Pictures, pictureBatch } from '../compiler/train/pictures.ts';
import { createRunner } from '../compiler/train/runGraph.ts';
import { stepGraph } from '../compiler/train/trainingGraph.ts';
import { loadModel } from '../graph/load.ts';
import { seededRandom } from '../graph/random.ts';
import { float32Tensor, float32View, type Tensor } from '../graph/tensor.ts';

const repeats = 10;

const [path = '', kind = 'native', threadText = '1', batchText = '128'] = process.argv.slice(2);
const [threads, batch] = [Number(threadText), Number(batchText)];
const heap = await createHeapBackend({ threads });
const backend = kind === 'wasm' ? heap : await createNodeBackend({ threads });
const model = loadModel(new Uint8Array(await readFile(path)));
const input = model.graph.inputs[0]?.name ?? '';
const { graph } = await normaliseModel(model, { backend: heap, shapes: { [input]: [batch, 3, 32, 32] } });
const [output] = graph.outputs;
const numClasses = Number(output?.shape?.[1] ?? 1);

const random = seededRandom(1);
const pictures: Pictures = {
  count: batch,
  size: 32,
  images: Uint8Array.from({ length: batch * 3 * 32 * 32 }, () => 256 * random()),
  labels: new Uint8Array(batch),
  mean: [0.5, 0.5, 0.5],
  deviation: [0.25, 0.25, 0.25],
};
const indices = Array.from({ length: batch }, (_, i) => i);
const images = pictureBatch(pictures, indices);
const normalised = await insertBatchNorm(graph, backend, [new Map([[input, images]])]);
const weights = weightNames(normalised);
const parameters = parametersOf(normalised, weights);

const terms = objectiveTerms(
  { type: 'classify', labelWeight: 0.5, smoothing: 0, teacherWeight: 0.5, temperature: 2 },
  output?.name ?? '',
);
const step = stepGraph(normalised, terms, weights);
const stepRunner = await createRunner(backend, step.graph);
const teacherRunner = await createRunner(backend, graph);
const logits = float32Tensor([batch, numClasses], new Float32Array(batch * numClasses));
const feeds = new Map<string, Tensor>([
  ...[...parameters].map(([name, parameter]) => [name, effectiveWeight(parameter)] as const),
  [input, images],
  [labelInput, logits],
  [teacherInput, logits],
]);

async function time(run: () => unknown) {
  const times: number[] = [];
  const before = process.cpuUsage();
  for (let i = 0; i < repeats; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  const at = (position: number): number => Number((times[position] ?? Number.NaN).toFixed(1));
  const cpu = Number(((user + system) / 1000 / repeats).toFixed(1));
  return { best: at(0), median: at(Math.floor(repeats / 2)), cpu };
}

const outputs = await stepRunner.run(feeds);
const gradients = new Map([...step.gradients].map(([name, from]) => [name, float32View(outputs.get(from))]));
const parts = {
  augmentation: await time(() => pictureBatch(pictures, indices, random)),
  teacher: await time(() => teacherRunner.run(new Map([[input, images]]))),
  forwardAndGradients: await time(() => stepRunner.run(feeds)),
  optimiser: await time(() =>
    optimiserStep(
      parameters,
      gradients,
      0,
      { type: 'sgd', momentum: 0.9, weightDecay: 0, clipNorm: Number.POSITIVE_INFINITY },
      0,
    ),
  ),
};
const best = Object.values(parts).reduce((sum, part) => sum + part.best, 0);
console.log(
  JSON.stringify(
    {
      date: new Date().toISOString(),
      processor: cpus()[0]?.model ?? '',
      load: loadavg()[0],
      model: path,
      backend: backend.name,
      threads,
      batch,
      nodes: step.graph.nodes.length,
      parts,
      stepBest: Number(best.toFixed(1)),
    },
    null,
    1,
  ),
);
await stepRunner.release();
await teacherRunner.release();
