/** Depthwise convolutions of a sparse model are fitted too, each output to its own channel. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Attribute, Graph, Model } from '../../graph/graph.ts';
import { normal } from '../../graph/random.ts';
import { elementCount, float32Tensor, float32View } from '../../graph/tensor.ts';
import { blockPictures } from '../../tests/support/blockNetwork.ts';
import { GraphWriter } from '../../tests/support/graphWriter.ts';
import { analyse } from '../analyse.ts';
import { normaliseModel } from '../normalise/normaliseModel.ts';
import { outputsOf, relativeError } from '../select/outputs.ts';
import { choose, thin } from '../thin.ts';

const backend = await createHeapBackend();
const channels = 8;

/** Twice a 1 x 1 convolution and a depthwise one, each rectified, and a last 1 x 1. */
async function separable(): Promise<Model> {
  const writer = new GraphWriter(4);
  const weight = (name: string, dims: readonly number[], deviation: number) => {
    const values = Array.from({ length: elementCount(dims) }, () => deviation * normal(writer.random));
    writer.initializers.set(name, float32Tensor(dims, values));
  };
  const add = (opType: string, inputs: string[], attributes: Record<string, Attribute> = {}) =>
    writer.node(opType, inputs, [1, channels, 6, 6], attributes);
  let x = 'pictures';
  for (const [layer, inputs] of [3, channels, channels].entries()) {
    weight(`p${layer}`, [channels, inputs, 1, 1], 1 / Math.sqrt(inputs));
    x = add('Conv', [x, `p${layer}`]);
    if (layer === 2) continue;
    weight(`d${layer}`, [channels, 1, 3, 3], 0.4);
    const group: Attribute = { type: 'int', value: channels };
    const pads: Attribute = { type: 'ints', value: [1, 1, 1, 1] };
    x = add('Relu', [add('Conv', [add('Relu', [x]), `d${layer}`], { group, pads })]);
  }
  const graph: Graph = {
    name: 'separable',
    inputs: [{ name: 'pictures', dataType: 'float32', shape: ['N', 3, 6, 6] }],
    outputs: [{ name: x, dataType: 'float32', shape: ['N', channels, 6, 6] }],
    nodes: writer.nodes,
    initializers: writer.initializers,
    values: new Map(),
  };
  const model = { irVersion: 8, opsets: new Map([['', 17]]), producer: '', metadata: new Map(), graph };
  return (await normaliseModel(model, { backend })).model;
}

test('weights of depthwise convolutions move with what is missing before them, and the outputs come nearer', async () => {
  const model = await separable();
  const settings = { numShards: 2, backend, calibration: blockPictures(128, 16), rows: 4000 };
  const analysis = await analyse(model, settings);
  const chosen = choose(analysis, { keep: 0.3 });
  const thinned = async (targets: typeof analysis.targets) =>
    (await thin({ ...analysis, targets }, chosen, settings)).model;
  const fitted = await thinned(analysis.targets);
  const left = await thinned(new Map([...analysis.targets].filter(([{ depthwise }]) => !depthwise)));
  const valuesOf = ({ graph }: Model, name: string) => [
    ...float32View(graph.initializers.get(name) ?? float32Tensor([0], [])),
  ];
  expect(valuesOf(left, 'd1')).toEqual(valuesOf(model, 'd1'));
  expect(valuesOf(fitted, 'd1')).not.toEqual(valuesOf(model, 'd1'));
  expect(fitted.graph.initializers.get('d1')?.dims).toEqual([channels, 1, 3, 3]);
  const unseen = blockPictures(64, 32, 9);
  const outputs = async (of: Model) => outputsOf(of, unseen.batches(), backend);
  const expected = await outputs(model);
  expect(relativeError(expected, await outputs(fitted))).toBeLessThan(
    relativeError(expected, await outputs(left)),
  );
});
