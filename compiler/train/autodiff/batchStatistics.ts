/**
 * Batch normalisation that uses the statistics of the batch, in operators that every build of onnxruntime has
 * (the operator's own training mode is in special builds only). Two passes: one before differentiation, which
 * makes the statistics outputs, one after it, which writes them out.
 */
import { batchNormalizationAttributes } from '../../../graph/attributes/normalisations.ts';
import { type Graph, type Node, withAttributes } from '../../../graph/graph.ts';
import { shapedValues } from '../../../graph/nodeView.ts';
import { elementCount } from '../../../graph/tensor.ts';
import { float, GraphBuilder, int, type Ref } from './graphBuilder.ts';

export interface BatchStatistics {
  /** Names of outputs of the graph, one entry per channel each; the variance is the population's. */
  readonly mean: string;
  readonly variance: string;
}

/**
 * Every BatchNormalization of the graph in training mode, with the batch's mean and variance as outputs of the
 * graph. The keys of the map are names of nodes.
 */
export function withBatchStatistics(graph: Graph): {
  readonly graph: Graph;
  readonly statistics: ReadonlyMap<string, BatchStatistics>;
} {
  const statistics = new Map<string, BatchStatistics>();
  const outputs = [...graph.outputs];
  const nodes = graph.nodes.map((node): Node => {
    if (node.opType !== 'BatchNormalization' || node.domain !== '') return node;
    const names = { mean: `${node.name}/batch_mean`, variance: `${node.name}/batch_variance` };
    statistics.set(node.name, names);
    const shape = graph.initializers.get(node.inputs[1] ?? '')?.dims ?? [];
    for (const name of [names.mean, names.variance]) outputs.push({ name, dataType: 'float32', shape });
    return {
      ...node,
      outputs: [node.outputs[0] ?? '', names.mean, names.variance],
      // With no momentum, what ONNX calls the running statistics is the batch's.
      attributes: withAttributes(node, { training_mode: int(1), momentum: float(0) }),
    };
  });
  return { graph: { ...graph, nodes, outputs }, statistics };
}

/** Writes out every BatchNormalization that withBatchStatistics made. */
export function lowerBatchStatistics(graph: Graph): Graph {
  const shapes = shapedValues(graph);
  const builder = new GraphBuilder([...shapes.keys(), ...graph.nodes.map(({ name }) => name)], 'statistics');
  const nodes: Node[] = [];
  for (const node of graph.nodes) {
    if (node.opType !== 'BatchNormalization' || !batchNormalizationAttributes(node).trainingMode) {
      nodes.push(node);
      continue;
    }
    const [output = '', mean = '', variance = ''] = node.outputs;
    const x = { name: node.inputs[0] ?? '', shape: shapes.get(node.inputs[0] ?? '')?.shape ?? [] };
    const start = builder.nodes.length;
    const moments = { mean, variance };
    emitMoments(builder, x, moments);
    nodes.push(...builder.nodes.slice(start), {
      name: node.name,
      opType: 'BatchNormalization',
      domain: '',
      inputs: [...node.inputs.slice(0, 3), mean, variance],
      outputs: [output],
      attributes: new Map([['epsilon', float(batchNormalizationAttributes(node).epsilon)]]),
    });
  }
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  return {
    ...graph,
    nodes,
    initializers: new Map([...graph.initializers, ...builder.constants]),
    values: new Map([...graph.values, ...builder.values].filter(([name]) => !outputs.has(name))),
  };
}

/** Mean and mean square in one pass each; their difference is the variance, which rounding may make negative. */
function emitMoments(b: GraphBuilder, x: Ref, names: BatchStatistics): void {
  const axes = x.shape.map((_, axis) => axis).filter((axis) => axis !== 1);
  const channels = [x.shape[1] ?? 1];
  const count = elementCount(x.shape) / (x.shape[1] ?? 1);
  const mean = b.node(
    'ReduceMean',
    [x],
    { axes: { type: 'ints', value: axes }, keepdims: int(0) },
    channels,
    { name: names.mean },
  );
  const square = b.scale(b.reduceWith('ReduceSumSquare', x, axes, false), 1 / count);
  const variance = b.sub(square, b.mul(mean, mean));
  b.node('Max', [variance, b.scalar(0)], {}, channels, { name: names.variance });
}
