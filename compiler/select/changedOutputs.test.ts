/** Outputs computed from where a contraction's weights change are those of the whole changed model. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { blockNetwork, blockPictures } from '../../tests/support/blockNetwork.ts';
import { splitBias } from '../adjust/blocks.ts';
import { findContractions, withBias, withWeights } from '../calibrate/contractions.ts';
import { rowWidth } from '../calibrate/patches.ts';
import { changedOutputs } from './changedOutputs.ts';
import { outputsOf } from './outputs.ts';

const backend = await createHeapBackend();

test.each([
  ['everything held', 1e9],
  ['nothing held', 0],
])('each change alone: %s', async (_, keptBytes) => {
  const model = await blockNetwork(backend, 8, 2);
  const contractions = findContractions(model.graph);
  // One is left as it is.
  const changed = contractions.filter((_, index) => index !== 1);
  const halved = (weights: Float64Array) => weights.map((value, i) => (i % 3 === 0 ? value / 2 : value));
  const changes = new Map(changed.map((one) => [one, halved(withBias(model.graph, one))]));
  const calibration = blockPictures(12, 5);
  const unchanged = await outputsOf(model, calibration.batches(), backend);
  let seen = 0;
  for await (const [contraction, outputs] of changedOutputs({
    model,
    changes,
    calibration,
    backend,
    keptBytes,
  })) {
    expect(contraction).toBe(changed[seen++]);
    const weights = changes.get(contraction) ?? new Float64Array(0);
    const graph = withWeights(model.graph, contraction, ...splitBias(weights, rowWidth(contraction)));
    expect(outputs).toEqual(await outputsOf({ ...model, graph }, calibration.batches(), backend));
    expect(outputs).not.toEqual(unchanged);
  }
  expect(seen).toBe(contractions.length - 1);
});
