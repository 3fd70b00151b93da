import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph, ValueInfo } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { saveModel } from '../../graph/save.ts';
import type { Backend } from '../../runtime/backend.ts';
import { withLivelyWeights } from '../../tests/support/livelyWeights.ts';
import { randomFeeds } from '../../tests/support/random.ts';
import { relativeDifference } from '../../tests/support/relativeDifference.ts';
import { runOnce } from '../../tests/support/runOnce.ts';
import { hasShared, readSharedModel, sharedModelNames } from '../../tests/support/shared.ts';
import { normaliseModel } from './normaliseModel.ts';

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

const openShapes: Readonly<Record<string, number[]>> = {
  'esrgan-slim-x4.onnx': [1, 3, 12, 10],
  'esrgan-thick-x4.onnx': [1, 3, 6, 5],
  'espcn-x3.onnx': [1, 1, 12, 10],
};

function isConcrete(value: ValueInfo | undefined): boolean {
  return value?.shape?.every((dim) => typeof dim === 'number') === true && value.untyped !== true;
}

describe.skipIf(!hasShared)('a normalised model', () => {
  it.each(sharedModelNames())('computes what the original computes: %s', async (name) => {
    const original = withLivelyWeights(loadModel(readSharedModel(name)));
    const shape = openShapes[name];
    const [input] = original.graph.inputs;
    const shapes = shape === undefined || input === undefined ? {} : { [input.name]: shape };
    const { model, graph, batchOpen } = await normaliseModel(original, { backend, shapes });
    expect(model.opsets.get('')).toBe(17);
    for (const value of [...graph.inputs, ...graph.outputs]) expect(isConcrete(value), value.name).toBe(true);
    const outputs = new Set(graph.outputs.map((output) => output.name));
    for (const output of graph.nodes.flatMap((node) => node.outputs)) {
      expect(outputs.has(output) || isConcrete(graph.values.get(output)), output).toBe(true);
    }
    const feeds = randomFeeds(graph.inputs, 11);
    const expected = await runOnce(backend, saveModel(original).bytes, feeds);
    const actual = await runOnce(backend, saveModel(model).bytes, feeds);
    const error = relativeDifference(actual, expected);
    const counts = Object.entries(countOperators(graph)).map(([op, count]) => `${op} ${count}`);
    console.log(
      `${name}: relative error ${error.toExponential(1)}, batch ${batchOpen ? 'open' : 'closed'}, ${counts.join(', ')}`,
    );
    expect(error).toBeLessThan(1e-5);
    for (const gone of [
      'BatchNormalization',
      'Identity',
      'Constant',
      'ConstantOfShape',
      'Shape',
      'Dropout',
      'Upsample',
    ]) {
      expect(countOperators(graph)[gone], gone).toBeUndefined();
    }
    // The vision transformer's attention folds its sequence length and batch into one axis.
    expect(batchOpen).toBe(!name.startsWith('deit'));
  });

  it('keeps an option-A shortcut as Slice and Pad with constant inputs', async () => {
    const { graph } = await normaliseModel(loadModel(readSharedModel('resnet20-cifar10.onnx')), { backend });
    const moves = graph.nodes.filter((node) => node.opType === 'Slice' || node.opType === 'Pad');
    expect(moves.length).toBeGreaterThanOrEqual(4);
    for (const node of moves) {
      for (const name of node.inputs.slice(1))
        expect(name === '' || graph.initializers.has(name), name).toBe(true);
    }
    expect(new Set(graph.nodes.map((node) => node.opType))).toEqual(
      new Set(['Conv', 'Relu', 'Add', 'Slice', 'Pad', 'AveragePool', 'Reshape', 'Gemm']),
    );
  });
});

function countOperators(graph: Graph): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { opType } of graph.nodes) counts[opType] = (counts[opType] ?? 0) + 1;
  return counts;
}
