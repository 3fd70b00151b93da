/** The plan that is looked for on a link: never slower than what is exact, thinned where that pays, and as good as was asked for. */
import { beforeAll, expect, test } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import type { Model } from '../graph/graph.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';
import { type LinkCost, referenceDevice } from '../runtime/predict/costModel.ts';
import { simulate } from '../runtime/predict/simulate.ts';
import { blockNetwork, blockPictures } from '../tests/support/blockNetwork.ts';
import { answersOf, lossBetween } from './measure/answers.ts';
import { planLatency } from './planLatency.ts';

const numShards = 2;
/** Slow at products, so that so small a network is worth dividing. */
const slow = { ...referenceDevice, macsPerMs: 1500 };
const devices = [slow, slow];
let backend: Backend;
let model: Model;

beforeAll(async () => {
  backend = await createHeapBackend();
  model = await blockNetwork(backend, 16, 2);
});

const plan = (link: LinkCost, allowedLoss: number) =>
  planLatency(model, {
    numShards,
    cost: { devices, link, host: 0 },
    calibration: blockPictures(128, 16),
    rows: 1000,
    backend,
    openBatch: true,
    allowedLoss,
  });

const narrowLink: LinkCost = { roundTripMs: 2, bytesPerMs: 50, messageMs: 0.1 };

test('on a narrow link it thins as far as the answers allow, and keeps what it promises', async () => {
  const lenient = await plan(narrowLink, 0.3);
  const { one = 0, rows = 0, exact = 0, auto = 0 } = lenient.predictedMs;
  expect(auto).toBeLessThan(exact);
  expect(exact).toBeLessThanOrEqual(Math.min(one, rows));
  const room = lower(lenient.model.graph, lenient.division, [[0], [1]]);
  expect(simulate(room, { devices, link: narrowLink, host: 0 }).totalMs).toBeCloseTo(auto, 6);
  expect(lenient.loss).toBeLessThanOrEqual(0.3);
  const unseen = [...(blockPictures(64, 64, 11).batches() as Iterable<Record<string, never>>)];
  const whole = { model, division: { numShards, shardings: new Map() } };
  const loss = lossBetween(
    await answersOf(whole, unseen, backend, true),
    await answersOf(lenient, unseen, backend, true),
  );
  expect(loss).toBeLessThan(0.45);
}, 180_000);

test('where round trips cost more than the whole model it stays on one device', async () => {
  const far = await plan({ roundTripMs: 1e5, bytesPerMs: 50, messageMs: 0.1 }, 0.001);
  expect(far.predictedMs['auto']).toBeLessThanOrEqual(far.predictedMs['one'] ?? 0);
  expect(lower(far.model.graph, far.division, [[0], [1]]).rounds).toBe(0);
}, 180_000);
