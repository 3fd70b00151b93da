/** The graphs that training runs: one step with loss and gradients, and the forward pass that is evaluated. */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { elementCount } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import {
  type BatchStatistics,
  lowerBatchStatistics,
  withBatchStatistics,
} from './autodiff/batchStatistics.ts';
import { differentiate } from './autodiff/differentiate.ts';
import { GraphBuilder, type Ref } from './autodiff/graphBuilder.ts';
import { appendLoss, type LossTerm } from './losses.ts';

export interface StepGraph {
  /** Takes the graph's inputs, the loss's targets and the weights; gives its outputs, and what the names below say. */
  readonly graph: Graph;
  readonly loss: string;
  /** Weight -> output with its gradient. */
  readonly gradients: ReadonlyMap<string, string>;
  /** BatchNormalization node -> outputs with the batch's statistics. */
  readonly statistics: ReadonlyMap<string, BatchStatistics>;
}

/**
 * Weights are inputs, so that one session serves all steps: creating one each step, with the weights as constants,
 * takes longer than the faster convolutions save. Throws MODEL_UNSUPPORTED for operators without a gradient.
 */
export function stepGraph(graph: Graph, terms: readonly LossTerm[], weights: readonly string[]): StepGraph {
  const { graph: normalised, statistics } = withBatchStatistics(graph);
  const { graph: withLoss, loss } = appendLoss(normalised, terms);
  const { graph: full, gradients } = differentiate(withLoss, loss, weights);
  const running = graph.nodes.flatMap(({ opType, inputs }) =>
    opType === 'BatchNormalization' ? inputs.slice(3) : [],
  );
  const initializers = new Map(full.initializers);
  for (const name of running) initializers.delete(name);
  return {
    graph: weightsAsInputs(lowerBatchStatistics({ ...full, initializers }), weights),
    loss,
    gradients,
    statistics,
  };
}

export interface FeatureAxis {
  readonly value: string;
  readonly axis: number;
}

type Reduction = 'ReduceSumSquare' | 'ReduceMean' | 'ReduceMax' | 'ReduceMin';

/** The graph with a further output for each value: all but the features' axis reduced. */
function withReduced(graph: Graph, values: readonly FeatureAxis[], opType: Reduction, prefix: string) {
  const { builder, ref, extended } = extend(graph, prefix);
  const outputs = new Map(
    values.map(({ value, axis: features }) => {
      const x = ref(value);
      const axes = x.shape.map((_, axis) => axis).filter((axis) => axis !== features);
      const reduced = builder.reduceWith(opType, x, axes, false);
      const count = elementCount(x.shape) / (x.shape[features] ?? 1);
      const result = opType === 'ReduceSumSquare' ? builder.mul(reduced, builder.scalar(1 / count)) : reduced;
      return [value, result.name] as const;
    }),
  );
  return { graph: extended([...outputs.values()]), outputs };
}

/** With the mean square of every feature of the given values, over the batch. */
export function withMoments(graph: Graph, values: readonly FeatureAxis[]) {
  const { graph: extended, outputs } = withReduced(graph, values, 'ReduceSumSquare', 'moments');
  return { graph: extended, moments: outputs };
}

/** With means and mean squares. */
export function withMeans(graph: Graph, values: readonly FeatureAxis[]) {
  const { graph: squared, moments } = withMoments(graph, values);
  const { graph: extended, outputs } = withReduced(squared, values, 'ReduceMean', 'means');
  return { graph: extended, moments, means: outputs };
}

/** With the largest and the least of every feature. */
export function withRanges(graph: Graph, values: readonly FeatureAxis[]) {
  const { graph: topped, outputs: high } = withReduced(graph, values, 'ReduceMax', 'largest');
  const { graph: extended, outputs: low } = withReduced(topped, values, 'ReduceMin', 'least');
  return { graph: extended, high, low };
}

function extend(graph: Graph, prefix: string) {
  const shapes = shapedValues(graph);
  const builder = new GraphBuilder([...shapes.keys(), ...graph.nodes.map(({ name }) => name)], prefix);
  const ref = (name: string): Ref => {
    const shape = shapes.get(name)?.shape;
    if (shape === undefined) throw new StarlingError('GRAPH_INVALID', `No shape is known for "${name}".`);
    return { name, shape };
  };
  const extended = (outputs: readonly string[]): Graph => {
    const infos = outputs.flatMap((name) => builder.values.get(name) ?? []);
    const values = new Map([...graph.values, ...builder.values]);
    for (const name of outputs) values.delete(name);
    return {
      ...graph,
      outputs: [...graph.outputs, ...infos],
      nodes: [...graph.nodes, ...builder.nodes],
      initializers: new Map([...graph.initializers, ...builder.constants]),
      values,
    };
  };
  return { builder, ref, extended };
}

/** Initializers that come in with every run instead. */
export function weightsAsInputs(graph: Graph, names: readonly string[]): Graph {
  const initializers = new Map(graph.initializers);
  const inputs = names.flatMap((name) => {
    const tensor = initializers.get(name);
    if (tensor === undefined) return [];
    initializers.delete(name);
    return [{ name, dataType: tensor.dataType, shape: tensor.dims }];
  });
  return { ...graph, inputs: [...graph.inputs, ...inputs], initializers };
}
