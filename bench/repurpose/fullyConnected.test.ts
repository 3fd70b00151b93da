/** What is predicted of 2 to 32 workers is what the formula of a thinned layer says, and 32 shards compile and answer alike. */

import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel } from '../../compiler/compile.ts';
import { divideByChannels } from '../../compiler/divide/divideChannels.ts';
import { saveModel } from '../../graph/save.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import { blockNetwork } from '../../tests/support/blockNetwork.ts';
import { denseWorkers, fullyConnected, thinnedWorkers } from './fullyConnected.ts';

const [width, layers] = [256, 3];
const graph = fullyConnected(width, layers);
test('the division is the one that the compiler makes', () => {
  expect(denseWorkers(graph, 8)).toEqual(divideByChannels(graph, 8));
});

test.each([
  [2, 1],
  [2, 0.5],
  [8, 0.25],
  [32, 1],
  [32, 0.25],
])('%i workers that keep %d', (workers, kept) => {
  const room = lower(graph, thinnedWorkers(graph, workers, kept), oneShardEach(workers));
  const own = width / workers;
  const foreign = (workers - 1) * own * kept;
  for (const { macs } of room.programs) expect(macs).toBe(16 * own + layers * own * (own + foreign));
  expect(room.exchangedBytes).toBe(layers * workers * foreign * 4);
});

test('32 shards of a network of 8 channels: most have nothing, and every channel has one owner', async () => {
  const backend = await createHeapBackend();
  const model = await blockNetwork(backend, 8, 1);
  const { plan } = await compileModel(saveModel(model).bytes, {
    name: 'blocks',
    numShards: 32,
    axis: 'channels',
    backend,
  });
  expect(plan.numShards).toBe(32);
  expect(plan.report.macsPerShard).toHaveLength(32);
  expect(plan.report.macsPerShard.filter((macs) => macs > 0).length).toBeGreaterThanOrEqual(8);
});
