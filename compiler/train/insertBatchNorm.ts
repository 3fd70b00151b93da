/**
 * Puts batch normalisation after every convolution of a graph. That of a trained graph leaves its function as it is: gamma
 * is the measured deviation and beta the measured mean. Random weights have no function to keep, and what they give grows
 * from layer to layer: gamma 1 and beta 0 (Ioffe and Szegedy 2015) bring it to one size.
 * foldBatchNormalization (compiler/normalise) undoes it when training is over.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { float } from './autodiff/graphBuilder.ts';
import { createRunner } from './runGraph.ts';
import { withMeans } from './trainingGraph.ts';

const epsilon = 1e-5;

/** What the graph's weights are before training. */
export type WeightStart = 'trained' | 'random';

/** `batches` feed the graph's inputs. The convolutions lose their bias, which batch normalisation would cancel. */
export async function insertBatchNorm(
  graph: Graph,
  backend: Backend,
  batches: readonly ReadonlyMap<string, Tensor>[],
  start: WeightStart = 'trained',
): Promise<Graph> {
  const normalised = new Set(
    graph.nodes.flatMap(({ opType, inputs }) => (opType === 'BatchNormalization' ? inputs.slice(0, 1) : [])),
  );
  const convolutions = graph.nodes.filter(
    ({ opType, domain, inputs, outputs }) =>
      opType === 'Conv' &&
      domain === '' &&
      graph.initializers.has(inputs[1] ?? '') &&
      ((inputs[2] ?? '') === '' || graph.initializers.has(inputs[2] ?? '')) &&
      !normalised.has(outputs[0] ?? ''),
  );
  const statistics = await measure(
    graph,
    backend,
    batches,
    convolutions.flatMap(({ outputs }) => outputs),
  );
  const initializers = new Map(graph.initializers);
  const values = new Map(graph.values);
  const nodes = graph.nodes.flatMap((node): readonly Node[] => {
    const [output = ''] = node.outputs;
    const measured = statistics.get(output);
    if (measured === undefined) return [node];
    const { mean, variance } = measured;
    const biasTensor = graph.initializers.get(node.inputs[2] ?? '');
    const bias = biasTensor === undefined ? mean.map(() => 0) : float32View(biasTensor);
    const raw = `${output}/unnormalised`;
    const add = (hint: string, data: Float32Array): string => {
      initializers.set(`${output}/${hint}`, float32Tensor([data.length], data));
      return `${output}/${hint}`;
    };
    const info = values.get(output) ?? graph.outputs.find(({ name }) => name === output);
    if (info !== undefined) values.set(raw, { ...info, name: raw });
    return [
      { ...node, inputs: node.inputs.slice(0, 2), outputs: [raw] },
      {
        name: `${output}/normalisation`,
        opType: 'BatchNormalization',
        domain: '',
        inputs: [
          raw,
          add(
            'gamma',
            variance.map((value) => (start === 'random' ? 1 : Math.sqrt(value + epsilon))),
          ),
          add('beta', start === 'random' ? mean.map(() => 0) : mean),
          add(
            'mean',
            mean.map((value, i) => value - (bias[i] ?? 0)),
          ),
          add('variance', variance),
        ],
        outputs: [output],
        attributes: new Map([['epsilon', float(epsilon)]]),
      },
    ];
  });
  return { ...graph, nodes, initializers, values };
}

interface Statistics {
  readonly mean: Float32Array;
  readonly variance: Float32Array;
}

async function measure(
  graph: Graph,
  backend: Backend,
  batches: readonly ReadonlyMap<string, Tensor>[],
  values: readonly string[],
): Promise<ReadonlyMap<string, Statistics>> {
  if (batches.length === 0)
    throw new StarlingError('INPUT_INVALID', 'Batch normalisation needs sample inputs.');
  const measured = withMeans(
    graph,
    values.map((value) => ({ value, axis: 1 })),
  );
  const runner = await createRunner(backend, measured.graph);
  const sums = new Map<string, { mean: Float64Array; square: Float64Array }>();
  for (const batch of batches) {
    const outputs = await runner.run(batch);
    for (const value of values) {
      const mean = float32View(outputs.get(measured.means.get(value) ?? ''));
      const square = float32View(outputs.get(measured.moments.get(value) ?? ''));
      const sum = sums.get(value) ?? {
        mean: new Float64Array(mean.length),
        square: new Float64Array(mean.length),
      };
      for (const [i, m] of mean.entries()) {
        sum.mean[i] = (sum.mean[i] ?? 0) + m / batches.length;
        sum.square[i] = (sum.square[i] ?? 0) + (square[i] ?? 0) / batches.length;
      }
      sums.set(value, sum);
    }
  }
  await runner.release();
  return new Map(
    [...sums].map(([value, { mean, square }]) => [
      value,
      {
        mean: Float32Array.from(mean),
        variance: Float32Array.from(square, (s, i) => Math.max(0, s - (mean[i] ?? 0) ** 2)),
      },
    ]),
  );
}
