/** Combinations in place of features: the same function before anything is thinned, the same bytes and rounds, and a smaller error. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { size, toIndices } from '../../graph/ranges.ts';
import { inRoom, logitsOf, missed } from '../../tests/support/blockAnswers.ts';
import { blockNetwork, blockPictures } from '../../tests/support/blockNetwork.ts';
import { analyse } from '../analyse.ts';
import { findContractions, readWeights } from '../calibrate/contractions.ts';
import { featureSources } from '../select/features.ts';
import type { SparsifySettings } from '../sparsifySettings.ts';
import { choose, thin } from '../thin.ts';
import { exchangedValues, readSupports, supportsOf } from '../train/exchangedValues.ts';
import { exchangeCost, lowerEach } from '../wire/exchangeCost.ts';
import { project } from './project.ts';

const backend = await createHeapBackend();
const settings: SparsifySettings = { numShards: 2, backend, calibration: blockPictures(256, 64), rows: 4000 };
const unseen = blockPictures(64, 32, 9);

test.each([2, 3])('%i shards: nearer to the model than features of as many bytes', async (numShards) => {
  const asked = { ...settings, numShards, scoreSweeps: 0 };
  const model = await blockNetwork(backend, 18, 1);
  const analysis = await analyse(model, asked);
  const chosen = choose(analysis, { keep: 0.3 });
  const projecting = await project(analysis, asked);
  if (projecting === undefined) throw new Error('Nothing can be combined.');
  const projected = projecting.only(choose(projecting.analysis, { keep: 0.3 }));
  const expected = await logitsOf(backend, model, unseen);
  expect(missed(expected, await logitsOf(backend, projected.analysis.model, unseen))).toBeLessThan(1e-10);

  const plain = await thin(analysis, chosen, asked);
  const combined = await thin(projected.analysis, projected.chosen, asked);
  const answers = await logitsOf(backend, combined.model, unseen);
  expect(missed(expected, answers)).toBeLessThan(
    missed(expected, await logitsOf(backend, plain.model, unseen)),
  );
  expect(missed(answers, await inRoom(backend, combined.model, combined.division, unseen))).toBeLessThan(
    1e-10,
  );

  const cost = (of: Pick<typeof plain, 'model' | 'division'>) =>
    exchangeCost(lowerEach(of.model.graph, of.division, 'float32'));
  const dense = cost({ model, division: analysis.division });
  expect(cost(combined).bytes).toBeLessThan(0.5 * dense.bytes);
  expect(cost(combined).rounds).toBeLessThanOrEqual(dense.rounds);
  const { sentBytes, denseBytes, denseFeatures } = combined.report;
  expect(sentBytes).toBeLessThanOrEqual(0.3 * denseBytes);
  expect([denseBytes, denseFeatures]).toEqual([plain.report.denseBytes, plain.report.denseFeatures]);
});

test('a shard combines its own channels alone, and reads no combination that it makes itself', async () => {
  const analysis = await analyse(await blockNetwork(backend, 8, 1), settings);
  const projecting = await project(analysis, settings);
  if (projecting === undefined) throw new Error('Nothing can be combined.');
  const projected = projecting.only(choose(projecting.analysis, { keep: 0.5 }));
  const { contractions, sources } = projected.analysis;
  const { model, division } = await thin(projected.analysis, projected.chosen, settings);
  const { values = new Set(), supports = new Map() } = projected.analysis.projections ?? {};
  expect(values.size).toBeGreaterThan(0);
  const combining = findContractions(model.graph).filter(({ node }) => supports.has(node.name));
  expect(combining).toHaveLength(values.size);
  const made = featureSources(model.graph, division, combining);
  for (const contraction of combining) {
    const weights = readWeights(model.graph, contraction);
    const parts = division.shardings.get(contraction.output)?.parts ?? [];
    const owners = made.get(contraction) ?? [];
    for (const [shard, rows] of parts.entries()) {
      for (const row of toIndices(rows)) {
        for (const [channel, source] of owners.entries()) {
          if (source === 'everywhere' || source.owner !== shard)
            expect(weights[row * contraction.inputChannels + channel]).toBe(0);
        }
      }
    }
    expect(division.supports?.get(contraction.node.name)).toEqual(supports.get(contraction.node.name));
  }
  for (const contraction of contractions) {
    for (const [shard, ranges] of (division.supports?.get(contraction.node.name) ?? []).entries()) {
      const read = new Set(toIndices(ranges));
      for (const [channel, source] of (sources.get(contraction) ?? []).entries()) {
        if (source !== 'everywhere' && source.owner === shard)
          expect(read.has(channel)).toBe(!values.has(source.value));
      }
    }
  }
});

test('all combinations cost what all features do; where all are sent, features travel as they are', async () => {
  const analysis = await analyse(await blockNetwork(backend, 8, 1), settings);
  const projecting = await project(analysis, settings);
  const { candidates = [], projections } = projecting?.analysis ?? { projections: undefined };
  expect(projections?.values.size).toBeGreaterThan(0);
  expect(candidates.length).toBe(analysis.candidates.length);
  const all = projecting?.only(candidates);
  expect(all?.analysis.model).toEqual(analysis.model);
  expect(all?.chosen).toEqual(analysis.candidates);
  expect(projecting?.only([]).chosen).toEqual([]);
});

test('training knows what shards read of combinations, and what they do not', async () => {
  const analysis = await analyse(await blockNetwork(backend, 8, 1), settings);
  const projecting = await project(analysis, settings);
  const made = projecting?.only(choose(projecting.analysis, { keep: 0.5 }));
  if (made === undefined) throw new Error('Nothing can be combined.');
  const { model, division } = await thin(made.analysis, made.chosen, settings);
  const values = exchangedValues(model.graph, division);
  readSupports(values, division.supports ?? new Map());
  const again = supportsOf(values);
  for (const [node, supports] of division.supports ?? []) {
    const parts = division.shardings.get(
      model.graph.nodes.find(({ name }) => name === node)?.outputs[0] ?? '',
    );
    // A shard that makes none of the outputs reads nothing, whatever is said of it.
    const making = (_: unknown, shard: number) => size(parts?.parts[shard] ?? []) > 0;
    expect([node, again.get(node)?.filter(making)]).toEqual([node, supports.filter(making)]);
  }
});
