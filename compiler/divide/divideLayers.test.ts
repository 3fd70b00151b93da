/** Each layer is whole on one shard, the shards take turns once, and what goes between them is one value. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { size } from '../../graph/ranges.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { blockNetwork } from '../../tests/support/blockNetwork.ts';
import { divideByLayers } from './divideLayers.ts';

const numShards = 3;

async function divided() {
  const { graph } = await blockNetwork(await createHeapBackend(), 8, 3);
  return { graph, division: divideByLayers(graph, numShards, true) };
}

test('every value belongs to one shard, and later ones never to an earlier shard', async () => {
  const { graph, division } = await divided();
  const owners = graph.nodes.flatMap(({ outputs: [output = ''] }) => {
    const parts = division.shardings.get(output)?.parts;
    return parts === undefined ? [] : [parts.flatMap((part, shard) => (size(part) > 0 ? [shard] : []))];
  });
  expect(owners.every((all) => all.length === 1)).toBe(true);
  const order = owners.flat();
  expect(order).toEqual([...order].sort((a, b) => a - b));
  expect(new Set(order).size).toBe(numShards);
});

test('nothing is computed twice, and shards share the work', async () => {
  const { graph, division } = await divided();
  const apart = lower(graph, division, [[0], [1], [2]]).programs.map(({ macs }) => macs);
  const [alone] = lower(graph, division, [[0, 1, 2]]).programs;
  expect(apart.reduce((sum, macs) => sum + macs, 0)).toBe(alone?.macs);
  expect(Math.max(...apart)).toBeLessThan(0.6 * (alone?.macs ?? 0));
});
