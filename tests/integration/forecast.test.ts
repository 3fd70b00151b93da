/** Forecasts of placements: what is worth a look is looked at, and the best of all is among it. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { divideByChannels } from '../../compiler/divide/divideChannels.ts';
import { divideByRows } from '../../compiler/divide/divideRows.ts';
import { normaliseModel } from '../../compiler/normalise/normaliseModel.ts';
import type { Graph } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { type LinkCost, localLink, referenceDevice, scaleDevice } from '../../runtime/predict/costModel.ts';
import { type Forecast, Forecaster } from '../../runtime/predict/forecast.ts';
import { proportional } from '../../runtime/predict/shareOut.ts';
import { simulate } from '../../runtime/predict/simulate.ts';
import { tinyUpscaler } from '../e2e/support/tinyUpscaler.ts';
import { randomModel } from '../support/randomGraph.ts';

const best = (forecasts: readonly Forecast[]) => forecasts.reduce((a, b) => (b.totalMs < a.totalMs ? b : a));
const devicesOf = (...speeds: number[]) => speeds.map((speed, i) => ({ id: 'abcdef'[i] ?? '', speed }));
const slow: LinkCost = { roundTripMs: 40, bytesPerMs: 100, messageMs: 0.15 };

/** Every way to give contiguous shards to these devices, played. */
function exhaustive(
  graph: Parameters<typeof lower>[0],
  numShards: number,
  speeds: readonly number[],
): number {
  const division = divideByChannels(graph, numShards);
  let least = Number.POSITIVE_INFINITY;
  const place = (counts: readonly number[], left: number): void => {
    if (counts.length === speeds.length) {
      if (left > 0) return;
      let next = 0;
      const shards = counts.map((count) => Array.from({ length: count }, () => next++));
      const devices = speeds.map((speed) => scaleDevice(referenceDevice, speed));
      const room = lower(graph, division, shards);
      least = Math.min(least, simulate(room, { devices, link: localLink, host: 0 }).totalMs);
      return;
    }
    for (let count = 0; count <= left; count++) place([...counts, count], left - count);
  };
  place([], numShards);
  return least;
}

/** Some 200 million multiply-accumulates, in layers that exchange rows. */
let upscaler: Graph;
beforeAll(async () => {
  const backend = await createHeapBackend();
  upscaler = (await normaliseModel(loadModel(tinyUpscaler(64)), { backend, shapes: {} })).model.graph;
});

describe('forecasts', () => {
  test.each([
    [1, [1, 1]],
    [2, [1, 0.3]],
    [3, [0.3, 1, 1]],
    [4, [1, 1, 0.1]],
  ])('on network %d with speeds %j come within 5 %% of the best of all placements', async (seed, speeds) => {
    const { graph } = randomModel(seed, 12);
    const forecaster = new Forecaster(graph, divideByChannels(graph, 4));
    const forecasts = await forecaster.forecast({ devices: devicesOf(...speeds), links: () => undefined });
    expect(best(forecasts).totalMs).toBeLessThanOrEqual(1.05 * exhaustive(graph, 4, speeds));
  });

  test('give a device on a slow link nothing in the best of them, and a slow device less', async () => {
    const { graph: divided, division } = divideByRows(upscaler, 4);
    const forecaster = new Forecaster(divided, division);
    const links = (from: number, to: number) => (from === 2 || to === 2 ? slow : undefined);
    const room = { devices: devicesOf(0.1, 0.04, 0.1), links };
    const chosen = best(await forecaster.forecast(room));
    expect(chosen.devices).toEqual(['a', 'b']);
    expect(chosen.shards.map((held) => held.length)).toEqual([3, 1]);
    const fastLinks = best(await forecaster.forecast({ ...room, links: () => undefined }));
    expect(fastLinks.devices).toContain('c');
    expect(fastLinks.totalMs).toBeLessThan(chosen.totalMs);
  });

  test('take one device where every link is slow', async () => {
    const { graph: divided, division } = divideByRows(upscaler, 2);
    const forecasts = await new Forecaster(divided, division).forecast({
      devices: devicesOf(1, 1),
      links: () => slow,
    });
    expect(best(forecasts).devices).toEqual(['a']);
  });

  test('let a much faster device compute for a slow host', async () => {
    const { graph: divided, division } = divideByRows(upscaler, 2);
    const forecasts = await new Forecaster(divided, division).forecast({
      devices: devicesOf(0.05, 2),
      links: () => undefined,
    });
    expect(best(forecasts).shards).toEqual([[], [0, 1]]);
  });
});

test('shares in proportion add up, and nobody is left without one', () => {
  expect(proportional(4, [1, 1])).toEqual([2, 2]);
  expect(proportional(4, [3, 1])).toEqual([3, 1]);
  expect(proportional(8, [10, 1, 1])).toEqual([6, 1, 1]);
  expect(proportional(3, [1, 1, 1])).toEqual([1, 1, 1]);
});
