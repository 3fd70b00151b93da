/**
 * Trains a network step by step: gradients on a backend, weights in typed arrays, thinning of what shards read.
 * Everything that changes is in the checkpoint; everything random follows from the seed and the step.
 */
import type { Graph } from '../../graph/graph.ts';
import { seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { applyMasks, keptRatio } from './exchangedValues.ts';
import { type FeatureRange, followRange, isUnset, wireTensors } from './fakeQuantisation.ts';
import { labelInput, teacherInput } from './objective.ts';
import { optimiserStep } from './optimiser.ts';
import { effectiveWeight, type Parameter, parametersOf, weightNames } from './parameters.ts';
import type { GraphOutputs } from './runGraph.ts';
import { scoreFeatures, thin } from './thinning.ts';
import type { EvaluationResult, StepReport, Trainer, TrainerOptions } from './trainerTypes.ts';
import { countCorrect, indicesOfStep, oneHot, type TrainingData } from './trainingData.ts';
import { createSessions, type TrainingSessions } from './trainingSessions.ts';
import { restoreState, saveState, type TrainingState } from './trainingState.ts';

/** Throws MODEL_UNSUPPORTED where the graph cannot be trained, or is no classifier and the objective is to classify. */
export async function createTrainer(options: TrainerOptions): Promise<Trainer> {
  assertLabels(options);
  return new GraphTrainer(options, await createSessions(options));
}

/** Throws INPUT_INVALID. */
function assertLabels({ data, graph }: TrainerOptions): void {
  const classes = Number(graph.outputs[0]?.shape?.[1] ?? 1);
  const largest = Array.from(data.labels ?? []).reduce((a, b) => Math.max(a, b), 0);
  if (largest < classes) return;
  throw new StarlingError(
    'INPUT_INVALID',
    `The data has ${largest + 1} classes or more, and the model tells ${classes} apart.`,
  );
}

/** Numbers of different purposes must not repeat each other. */
const streams = { order: 1, augmentation: 2 } as const;
/** Steps between two looks at the ranges of what is rounded. */
const rangeEvery = 25;

/** The shape is fixed: the last batch is filled up with its first sample, of which only `real` count. */
function* batchesOf(count: number, batch: number) {
  for (let start = 0; start < count; start += batch) {
    const real = Math.min(batch, count - start);
    yield { real, indices: Array.from({ length: batch }, (_, i) => start + (i < real ? i : 0)) };
  }
}

class GraphTrainer implements Trainer {
  readonly #options: TrainerOptions;
  readonly #sessions: TrainingSessions;
  readonly #state: TrainingState;
  readonly #batch: number;
  readonly #classes: number;
  #step = 0;

  constructor(options: TrainerOptions, sessions: TrainingSessions) {
    const { graph, exchanges = [] } = options;
    this.#options = options;
    this.#sessions = sessions;
    this.#state = {
      parameters: parametersOf(graph, weightNames(graph), options.optimiser.type === 'adamw'),
      running: parametersOf(graph, sessions.runningNames),
      exchanges,
      ranges: new Map(
        [...sessions.wires.keys()].map((value): [string, FeatureRange] => {
          const count = exchanges.find((exchange) => exchange.value === value)?.owners.length ?? 0;
          return [value, { low: new Float32Array(count), high: new Float32Array(count) }];
        }),
      ),
    };
    // What a sparse division does not read stays away from the first step on.
    applyMasks(exchanges, this.#state.parameters);
    this.#batch = Number(graph.inputs[0]?.shape?.[0] ?? 1);
    this.#classes = Number(graph.outputs[0]?.shape?.[1] ?? 1);
  }

  get step(): number {
    return this.#step;
  }

  async trainStep(): Promise<StepReport> {
    const { data, optimiser } = this.#options;
    const { step: graph } = this.#sessions;
    if (this.#step % rangeEvery === 0) await this.#followRanges();
    await this.#thinIfDue();
    const indices = indicesOfStep(data.count, this.#batch, this.#step, (epoch) =>
      this.#random(streams.order, epoch),
    );
    const input = await data.batch(indices, this.#random(streams.augmentation, this.#step));
    const outputs = await this.#sessions.runStep(
      await this.#targets(this.#feeds(input), data, indices, input),
    );
    const gradients = new Map(
      [...graph.gradients].map(([name, output]) => [name, float32View(outputs.get(output))]),
    );
    const rate = this.#options.rateAt(this.#step);
    const { parameters } = this.#state;
    const gradientNorm = optimiserStep(parameters, gradients, rate, optimiser, this.#step);
    this.#updateStatistics((name) => float32View(outputs.get(name)));
    this.#step++;
    const { labels } = data;
    return {
      step: this.#step,
      loss: float32View(outputs.get(graph.loss))[0] ?? Number.NaN,
      gradientNorm,
      rate,
      ...(labels === undefined
        ? {}
        : { accuracy: countCorrect(outputs.get(this.#sessions.output), labels, indices) / indices.length }),
      kept: keptRatio(this.#state.exchanges),
    };
  }

  async evaluate(data: TrainingData, exactly = false): Promise<EvaluationResult> {
    const { labels, count } = data;
    const { rounded, exact, output } = this.#sessions;
    const evaluator = exactly ? exact : rounded;
    if (!exactly) await this.#measureFirstRanges();
    let [correct, loss, batches] = [0, 0, 0];
    for (const { indices, real } of batchesOf(count, this.#batch)) {
      if (labels === undefined && real < this.#batch && batches > 0) break;
      const input = await data.batch(indices);
      const feeds = this.#feeds(input, { running: true, exactly });
      if (labels === undefined) {
        const outputs = await evaluator.runLoss(await this.#targets(feeds, data, indices, input));
        loss += float32View(outputs.get(evaluator.lossName))[0] ?? Number.NaN;
        batches++;
      } else {
        const outputs = await evaluator.runForward(feeds);
        correct += countCorrect(outputs.get(output), labels, indices.slice(0, real));
      }
    }
    return labels === undefined ? { loss: loss / Math.max(1, batches) } : { accuracy: correct / count };
  }

  async teacherAccuracy(data: TrainingData): Promise<number | undefined> {
    const { labels, count } = data;
    if (labels === undefined || this.#options.teacher === undefined) return undefined;
    let correct = 0;
    for (const { indices, real } of batchesOf(count, this.#batch)) {
      const output = await this.#sessions.teach(await data.batch(indices));
      correct += countCorrect(output, labels, indices.slice(0, real));
    }
    return correct / count;
  }

  save(): Uint8Array {
    return saveState(this.#state, this.#step);
  }

  restore(bytes: Uint8Array, step?: number): void {
    const saved = restoreState(this.#state, bytes);
    applyMasks(this.#state.exchanges, this.#state.parameters);
    this.#step = step ?? saved;
  }

  trainedGraph(): Graph {
    const initializers = new Map(this.#options.graph.initializers);
    for (const [name, parameter] of this.#state.parameters)
      initializers.set(name, effectiveWeight(parameter));
    for (const [name, { dims, value }] of this.#state.running) {
      initializers.set(name, float32Tensor(dims, value.slice()));
    }
    return { ...this.#options.graph, initializers };
  }

  release(): Promise<void> {
    return this.#sessions.release();
  }

  #random(stream: number, count: number): () => number {
    return seededRandom(
      Math.imul(this.#options.seed + 1, 0x9e3779b1) ^ Math.imul(4 * count + stream, 0x85ebca6b),
    );
  }

  /** Input and weights; scales of what is rounded unless nothing is; for evaluation the running statistics. */
  #feeds(input: Tensor, { running = false, exactly = false } = {}): Map<string, Tensor> {
    const feeds = new Map<string, Tensor>([[this.#sessions.input, input]]);
    for (const [name, parameter] of this.#state.parameters) feeds.set(name, effectiveWeight(parameter));
    for (const [value, names] of exactly ? [] : this.#sessions.wires) {
      const range = this.#state.ranges.get(value);
      if (range === undefined) continue;
      const { scale, zero } = wireTensors(range);
      feeds.set(names.scale, scale).set(names.zero, zero);
    }
    if (running) {
      for (const [name, { dims, value }] of this.#state.running) feeds.set(name, float32Tensor(dims, value));
    }
    return feeds;
  }

  /** Adds what the loss is measured against. */
  async #targets(
    feeds: Map<string, Tensor>,
    { labels }: TrainingData,
    indices: readonly number[],
    input: Tensor,
  ): Promise<Map<string, Tensor>> {
    const { targets } = this.#sessions;
    if (targets.has(labelInput)) {
      if (labels === undefined) {
        throw new StarlingError('INPUT_INVALID', 'The loss takes labels, and the data has none.');
      }
      feeds.set(labelInput, oneHot(labels, this.#classes, indices));
    }
    if (targets.has(teacherInput)) feeds.set(teacherInput, await this.#sessions.teach(input));
    return feeds;
  }

  #updateStatistics(read: (output: string) => Float32Array): void {
    const { graph, statisticsMomentum: share } = this.#options;
    for (const node of graph.nodes) {
      const batch = this.#sessions.step.statistics.get(node.name);
      if (batch === undefined) continue;
      for (const [name, output] of [
        [node.inputs[3] ?? '', batch.mean],
        [node.inputs[4] ?? '', batch.variance],
      ] as const) {
        const kept: Parameter | undefined = this.#state.running.get(name);
        for (const [i, value] of read(output).entries()) {
          if (kept !== undefined) kept.value[i] = (1 - share) * (kept.value[i] ?? 0) + share * value;
        }
      }
    }
  }

  async #thinIfDue(): Promise<void> {
    const { thinning, exchanges = [] } = this.#options;
    const keep = thinning?.keepAt(this.#step);
    if (thinning === undefined || keep === undefined || exchanges.length === 0) return;
    const outputs = await this.#sessions.runMoments(await this.#sampleFeeds());
    const moments = namedOutputs(this.#sessions.moments, outputs);
    thin(exchanges, scoreFeatures(exchanges, this.#state.parameters, moments), keep, thinning.scope);
    applyMasks(exchanges, this.#state.parameters);
  }

  async #measureFirstRanges(): Promise<void> {
    if ([...this.#state.ranges.values()].some(isUnset)) await this.#followRanges();
  }

  async #followRanges(): Promise<void> {
    if (this.#state.ranges.size === 0) return;
    const { low, high } = this.#sessions;
    const outputs = await this.#sessions.runRanges(await this.#sampleFeeds(true));
    const [least, largest] = [namedOutputs(low, outputs), namedOutputs(high, outputs)];
    const none = new Float32Array();
    for (const [value, range] of this.#state.ranges) {
      followRange(range, least.get(value) ?? none, largest.get(value) ?? none, isUnset(range));
    }
  }

  /** A batch as it comes, without augmentation. */
  async #sampleFeeds(exactly = false): Promise<Map<string, Tensor>> {
    const { data } = this.#options;
    const random = this.#random(streams.order, this.#step);
    const indices = Array.from({ length: this.#batch }, () => Math.floor(random() * data.count));
    return this.#feeds(await data.batch(indices), { running: true, exactly });
  }
}

function namedOutputs(names: ReadonlyMap<string, string>, outputs: GraphOutputs) {
  return new Map([...names].map(([value, output]) => [value, float32View(outputs.get(output))] as const));
}
