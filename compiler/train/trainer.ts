/**
 * Trains a classifier step by step: gradients on a backend, weights in typed arrays, thinning of what shards read.
 * Everything that changes is in the checkpoint; everything random follows from the seed and the step.
 */
import type { Graph } from '../../graph/graph.ts';
import { seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { type Checkpoint, readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import { labelInput, lossTerms, teacherInput } from './classifierLoss.ts';
import { applyMasks, keptRatio } from './exchangedValues.ts';
import { sgdStep } from './optimiser.ts';
import { effectiveWeight, type Parameter, parametersOf, weightNames } from './parameters.ts';
import { countCorrect, indicesOfStep, labelBatch, type Pictures, pictureBatch } from './pictures.ts';
import { createRunner, type GraphRunner } from './runGraph.ts';
import { scoreFeatures, thin } from './thinning.ts';
import type { StepReport, Trainer, TrainerOptions } from './trainerTypes.ts';
import { type Moments, type StepGraph, stepGraph, weightsAsInputs, withMoments } from './trainingGraph.ts';

/** Throws MODEL_UNSUPPORTED where the graph cannot be trained, or is no classifier of such pictures. */
export async function createTrainer(options: TrainerOptions): Promise<Trainer> {
  const { backend, graph, teacher, exchanges = [] } = options;
  const [input, output] = [onlyName(graph.inputs, 'input'), onlyName(graph.outputs, 'output')];
  const step = stepGraph(graph, lossTerms(options.loss, output), weightNames(graph));
  const running = graph.nodes.flatMap(({ opType, inputs }) =>
    opType === 'BatchNormalization' ? inputs.slice(3) : [],
  );
  const forward = withMoments(
    graph,
    exchanges.map(({ value }) => value),
  );
  const evaluated = weightsAsInputs(forward.graph, [...weightNames(graph), ...running]);
  return new ClassifierTrainer(options, {
    input,
    output,
    step,
    moments: forward.moments,
    running: parametersOf(graph, running),
    stepRunner: await createRunner(backend, step.graph),
    forwardRunner: await createRunner(backend, evaluated),
    teacherRunner: teacher === undefined ? undefined : await createRunner(backend, teacher),
    teacherNames: {
      input: teacher === undefined ? '' : onlyName(teacher.inputs, 'input'),
      output: teacher === undefined ? '' : onlyName(teacher.outputs, 'output'),
    },
  });
}

function onlyName(list: Graph['inputs'], what: string): string {
  const [first] = list;
  if (first !== undefined && list.length === 1) return first.name;
  throw new StarlingError(
    'MODEL_UNSUPPORTED',
    `Training expects a model of one ${what}, this one has ${list.length}.`,
  );
}

interface Parts {
  readonly input: string;
  readonly output: string;
  readonly step: StepGraph;
  readonly moments: Moments;
  /** Means and variances of batch normalisation, by initializer. */
  readonly running: ReadonlyMap<string, Parameter>;
  readonly stepRunner: GraphRunner;
  readonly forwardRunner: GraphRunner;
  readonly teacherRunner: GraphRunner | undefined;
  readonly teacherNames: { readonly input: string; readonly output: string };
}

/** Numbers of different purposes must not repeat each other. */
const streams = { order: 1, augmentation: 2 } as const;

class ClassifierTrainer implements Trainer {
  readonly #options: TrainerOptions;
  readonly #parts: Parts;
  readonly #parameters: ReadonlyMap<string, Parameter>;
  readonly #batch: number;
  #step = 0;

  constructor(options: TrainerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#parameters = parametersOf(options.graph, weightNames(options.graph));
    this.#batch = Number(options.graph.inputs[0]?.shape?.[0] ?? 1);
  }

  get step(): number {
    return this.#step;
  }

  async trainStep(): Promise<StepReport> {
    const { pictures, rateAt, optimiser, exchanges = [] } = this.#options;
    await this.#thinIfDue();
    const indices = indicesOfStep(pictures.count, this.#batch, this.#step, (epoch) =>
      this.#random(streams.order, epoch),
    );
    const input = pictureBatch(pictures, indices, this.#random(streams.augmentation, this.#step));
    const labels = labelBatch(pictures, indices);
    const feeds = new Map([...this.#weightFeeds(), [this.#parts.input, input] as const]);
    const taken = new Set(this.#parts.step.graph.inputs.map(({ name }) => name));
    if (taken.has(labelInput)) feeds.set(labelInput, labels);
    if (taken.has(teacherInput)) feeds.set(teacherInput, await this.#teach(input));
    const outputs = await this.#parts.stepRunner.run(feeds);
    const gradients = new Map(
      [...this.#parts.step.gradients].map(([name, output]) => [name, float32View(outputs.get(output))]),
    );
    const rate = rateAt(this.#step);
    const gradientNorm = sgdStep(this.#parameters, gradients, rate, optimiser);
    this.#updateStatistics((name) => float32View(outputs.get(name)));
    this.#step++;
    return {
      step: this.#step,
      loss: float32View(outputs.get(this.#parts.step.loss))[0] ?? Number.NaN,
      gradientNorm,
      rate,
      accuracy: countCorrect(outputs.get(this.#parts.output), pictures, indices) / indices.length,
      kept: keptRatio(exchanges),
    };
  }

  async evaluate(pictures: Pictures): Promise<number> {
    let correct = 0;
    for (let start = 0; start < pictures.count; start += this.#batch) {
      // The shape is fixed: the last batch is filled up with its first picture, which then does not count.
      const real = Math.min(this.#batch, pictures.count - start);
      const indices = Array.from({ length: this.#batch }, (_, i) => start + (i < real ? i : 0));
      const outputs = await this.#forward(pictureBatch(pictures, indices));
      correct += countCorrect(outputs.get(this.#parts.output), pictures, indices.slice(0, real));
    }
    return correct / pictures.count;
  }

  save(): Uint8Array {
    const arrays = new Map<string, Float32Array | Uint8Array>();
    for (const [name, { value, velocity }] of this.#parameters) {
      arrays.set(`value ${name}`, value);
      arrays.set(`velocity ${name}`, velocity);
    }
    for (const [name, { value }] of this.#parts.running) arrays.set(`running ${name}`, value);
    for (const { value, reads } of this.#options.exchanges ?? []) {
      for (const [shard, list] of reads.entries()) arrays.set(`reads ${shard} ${value}`, list);
    }
    return writeCheckpoint({ arrays, numbers: new Map([['step', this.#step]]) });
  }

  restore(bytes: Uint8Array, step?: number): void {
    const checkpoint = readCheckpoint(bytes);
    const expected = readCheckpoint(this.save());
    const fits =
      expected.arrays.size === checkpoint.arrays.size &&
      [...expected.arrays].every(([name, array]) => checkpoint.arrays.get(name)?.length === array.length);
    if (!fits) {
      throw new StarlingError('FILE_UNREADABLE', 'The checkpoint belongs to another model or division.');
    }
    this.#adopt(checkpoint);
    if (step !== undefined) this.#step = step;
  }

  trainedGraph(): Graph {
    const initializers = new Map(this.#options.graph.initializers);
    for (const [name, tensor] of this.#weightFeeds()) initializers.set(name, tensor);
    for (const [name, { dims, value }] of this.#parts.running) {
      initializers.set(name, float32Tensor(dims, value.slice()));
    }
    return { ...this.#options.graph, initializers };
  }

  async release(): Promise<void> {
    const { stepRunner, forwardRunner, teacherRunner } = this.#parts;
    await stepRunner.release();
    await forwardRunner.release();
    await teacherRunner?.release();
  }

  #adopt({ arrays, numbers }: Checkpoint): void {
    const into = (target: Float32Array | Uint8Array, name: string): void => {
      target.set(arrays.get(name) ?? []);
    };
    for (const [name, { value, velocity }] of this.#parameters) {
      into(value, `value ${name}`);
      into(velocity, `velocity ${name}`);
    }
    for (const [name, { value }] of this.#parts.running) into(value, `running ${name}`);
    for (const { value, reads } of this.#options.exchanges ?? []) {
      for (const [shard, list] of reads.entries()) into(list, `reads ${shard} ${value}`);
    }
    applyMasks(this.#options.exchanges ?? [], this.#parameters);
    this.#step = numbers.get('step') ?? 0;
  }

  #random(stream: number, count: number): () => number {
    return seededRandom(
      Math.imul(this.#options.seed + 1, 0x9e3779b1) ^ Math.imul(4 * count + stream, 0x85ebca6b),
    );
  }

  #weightFeeds(): [string, Tensor][] {
    return [...this.#parameters].map(([name, parameter]) => [name, effectiveWeight(parameter)]);
  }

  async #teach(input: Tensor): Promise<Tensor> {
    const { teacherRunner, teacherNames } = this.#parts;
    if (teacherRunner === undefined) throw new StarlingError('INTERNAL', 'There is no teacher.');
    return (await teacherRunner.run(new Map([[teacherNames.input, input]]))).get(teacherNames.output);
  }

  #forward(input: Tensor) {
    const feeds = new Map<string, Tensor>([...this.#weightFeeds(), [this.#parts.input, input]]);
    for (const [name, { dims, value }] of this.#parts.running) feeds.set(name, float32Tensor(dims, value));
    return this.#parts.forwardRunner.run(feeds);
  }

  #updateStatistics(read: (output: string) => Float32Array): void {
    const { graph, statisticsMomentum: share } = this.#options;
    for (const node of graph.nodes) {
      const batch = this.#parts.step.statistics.get(node.name);
      if (batch === undefined) continue;
      for (const [name, output] of [
        [node.inputs[3] ?? '', batch.mean],
        [node.inputs[4] ?? '', batch.variance],
      ] as const) {
        const kept = this.#parts.running.get(name)?.value;
        for (const [i, value] of read(output).entries()) {
          if (kept !== undefined) kept[i] = (1 - share) * (kept[i] ?? 0) + share * value;
        }
      }
    }
  }

  async #thinIfDue(): Promise<void> {
    const { thinning, exchanges = [] } = this.#options;
    const keep = thinning?.keepAt(this.#step);
    if (thinning === undefined || keep === undefined || exchanges.length === 0) return;
    const scores = scoreFeatures(exchanges, this.#parameters, await this.#moments());
    thin(exchanges, scores, keep, thinning.scope);
    applyMasks(exchanges, this.#parameters);
  }

  async #moments(): Promise<ReadonlyMap<string, Float32Array>> {
    const { pictures } = this.#options;
    const random = this.#random(streams.order, this.#step);
    const indices = Array.from({ length: this.#batch }, () => Math.floor(random() * pictures.count));
    const outputs = await this.#forward(pictureBatch(pictures, indices));
    return new Map(
      [...this.#parts.moments].map(([value, output]) => [value, float32View(outputs.get(output))]),
    );
  }
}
