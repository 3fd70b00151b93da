import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../../backends/ortHeap.ts';
import { liftOpset } from '../../../compiler/normalise/liftOpset.ts';
import { normaliseModel } from '../../../compiler/normalise/normaliseModel.ts';
import { StarlingError } from '../../../protocol/errors.ts';
import type { Backend } from '../../../runtime/backend.ts';
import { type Case, floatsOf, modelOf, title } from '../../../tests/support/lift/liftCase.ts';
import { newerForms } from '../../../tests/support/lift/newerForms.ts';
import { ofTransformers } from '../../../tests/support/lift/ofTransformers.ts';
import { olderForms } from '../../../tests/support/lift/olderForms.ts';
import { int, text as string } from '../../../tests/support/operatorCase.ts';
import { randomFeeds } from '../../../tests/support/random.ts';
import { relativeDifference } from '../../../tests/support/relativeDifference.ts';
import { runOnce } from '../../../tests/support/runOnce.ts';
import type { Attribute } from '../../graph.ts';
import { saveModel } from '../../save.ts';
import { verifyGraph } from '../../verify.ts';
import { liftRules, unchangedOperators } from './liftRules.ts';

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

const floats = (...value: number[]): Attribute => ({ type: 'floats', value });

const cases = [...olderForms, ...newerForms, ...ofTransformers];

describe('lifted to opset 17', () => {
  it.each(cases.map((one) => [title(one), one] as const))('%s computes the same', async (_, one) => {
    const original = modelOf(one);
    const { model } = await normaliseModel(original, { backend });
    expect(model.opsets.get('')).toBe(17);
    const feeds = randomFeeds(original.graph.inputs, 4);
    const expected = await runOnce(backend, saveModel(original).bytes, feeds);
    const actual = await runOnce(backend, saveModel(model).bytes, feeds);
    expect(relativeDifference(actual, expected)).toBeLessThan(2e-6);
  });

  it('flattens a softmax where the shape is not known', async () => {
    const original = modelOf({ op: 'Softmax', opset: 11, attributes: { axis: int(2) } });
    const { graph } = original;
    const blind = {
      ...original,
      graph: { ...graph, inputs: graph.inputs.map(({ shape: _, ...rest }) => rest) },
    };
    const lifted = await liftOpset(blind, { backend, shapes: {} });
    verifyGraph(lifted.graph);
    expect(lifted.graph.nodes.map((node) => node.opType)).toEqual(['Flatten', 'Softmax', 'Shape', 'Reshape']);
    const feeds = randomFeeds(graph.inputs, 4);
    const expected = await runOnce(backend, saveModel(original).bytes, feeds);
    expect(relativeDifference(await runOnce(backend, saveModel(lifted).bytes, feeds), expected)).toBeLessThan(
      2e-6,
    );
  });

  const refused: readonly (readonly [Case, RegExp])[] = [
    [{ op: 'BatchNormalization', opset: 8, attributes: { spatial: int(0) } }, /every position/],
    [{ op: 'Dropout', opset: 10, outputs: 2 }, /mask/],
    [{ op: 'Upsample', opset: 8, attributes: { scales: floats(1, 1, 2, 0.5) } }, /shrinks/],
    [{ op: 'Scan', opset: 8 }, /Scan/],
    [{ op: 'Resize', opset: 18, attributes: { antialias: int(1) } }, /antialiased/],
    [{ op: 'ScatterND', opset: 18, attributes: { reduction: string('max') } }, /max/],
    [{ op: 'Attention', opset: 23, constants: [null, null, null, floatsOf(1)] }, /keeps keys/],
    [{ op: 'TensorScatter', opset: 24 }, /no rule/],
    [{ op: 'Unheard', opset: 13 }, /no rule/],
  ];
  it.each(refused.map(([one, reason]) => [title(one), one, reason] as const))(
    '%s is refused',
    (_, one, reason) => {
      const act = () => liftOpset(modelOf(one), { backend, shapes: {} });
      expect(act).toThrow(StarlingError);
      expect(act).toThrow(reason);
      expect(act).toThrow(/"node"/);
    },
  );

  it('has every operator in one of the two lists only, and a test for nearly every rule', () => {
    const tested = new Set([...cases, ...refused.map(([one]) => one)].map(({ op }) => op));
    for (const op of liftRules.keys()) {
      expect(unchangedOperators.has(op), op).toBe(false);
      if (op !== 'DequantizeLinear' && op !== 'ReduceLogSum') {
        expect(tested.has(op), op).toBe(true);
      }
    }
  });
});
