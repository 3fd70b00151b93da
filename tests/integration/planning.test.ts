/** Lowering never deadlocks, predictions are sound, and the search for a division comes close to trying everything. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { chooseDivision } from '../../compiler/divide/chooseDivision.ts';
import { divideByChannels } from '../../compiler/divide/divideChannels.ts';
import { divideByRows, rowShardings } from '../../compiler/divide/divideRows.ts';
import { graphStatistics, statisticsShardings } from '../../compiler/divide/statisticsShardings.ts';
import type { Graph } from '../../graph/graph.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';
import { localLink, referenceDevice } from '../../runtime/predict/costModel.ts';
import { simulate } from '../../runtime/predict/simulate.ts';
import { placements, randomDivision } from '../support/randomDivision.ts';
import { randomModel } from '../support/randomGraph.ts';

const cost = { devices: [referenceDevice], link: localLink, host: 0 };

const cases = fc
  .record({
    seed: fc.nat(),
    length: fc.integer({ min: 1, max: 20 }),
    numShards: fc.integer({ min: 1, max: 6 }),
    sendFirst: fc.boolean(),
    statistics: fc.boolean(),
    kind: fc.constantFrom('channels', 'rows', 'any'),
  })
  .chain((record) => placements(record.numShards).map((placement) => ({ ...record, placement })));

function divided(kind: string, graph: Graph, numShards: number, seed: number) {
  if (kind === 'rows') return divideByRows(graph, numShards);
  const division =
    kind === 'any' ? randomDivision(graph, numShards, seed) : divideByChannels(graph, numShards);
  return { graph, division };
}

test('the stages of all devices wait for each other in no circle', () => {
  fc.assert(
    fc.property(cases, ({ seed, length, numShards, sendFirst, statistics, kind, placement }) => {
      const { graph, division } = divided(kind, randomModel(seed, length, statistics).graph, numShards, seed);
      const room = lower(graph, { ...division, sendFirst }, placement);
      // Playing the stages throws where one can never start.
      const { totalMs, computeMs } = simulate(room, cost);
      expect(totalMs).toBeGreaterThanOrEqual(Math.max(...computeMs) * (1 - 1e-9));
    }),
    { numRuns: 400 },
  );
});

test('every index goes from one device to another at most once', () => {
  fc.assert(
    fc.property(cases, ({ seed, length, numShards, sendFirst, statistics, kind, placement }) => {
      const { graph, division } = divided(kind, randomModel(seed, length, statistics).graph, numShards, seed);
      const room = lower(graph, { ...division, sendFirst }, placement);
      const routes = room.programs.flatMap(({ sends }) =>
        sends.map(({ from, to, value }) => `${from} ${to} ${value}`),
      );
      expect(new Set(routes).size).toBe(routes.length);
    }),
    { numRuns: 200 },
  );
});

describe('the search', () => {
  /** Every way to give each value rows, channels or no owner. */
  function exhaustive(graph: Graph, numShards: number): number {
    const rows = rowShardings(graph, numShards);
    const channels = divideByChannels(graph, numShards).shardings;
    const values = [...new Set([...rows.keys(), ...channels.keys()])];
    const placement = oneShardEach(numShards);
    let best = Number.POSITIVE_INFINITY;
    for (let code = 0; code < 3 ** values.length; code++) {
      const shardings = new Map<string, Sharding>();
      for (const [i, value] of values.entries()) {
        const choice = Math.floor(code / 3 ** i) % 3;
        const sharding = choice === 0 ? undefined : (choice === 1 ? rows : channels).get(value);
        if (sharding !== undefined) shardings.set(value, sharding);
      }
      const divided = statisticsShardings(graphStatistics(graph), shardings, numShards);
      for (const sendFirst of [false, true]) {
        const division: Division = { numShards, ...divided, sendFirst };
        best = Math.min(best, simulate(lower(graph, division, placement), cost).totalMs);
      }
    }
    return best;
  }

  test.each([3, 11, 27, 42, 77])('on network %d is within a tenth of the best of all divisions', (seed) => {
    const { graph } = randomModel(seed, 5);
    const { predictedMs } = chooseDivision(graph, 2, cost, false);
    expect(predictedMs.auto).toBeLessThanOrEqual(1.1 * exhaustive(graph, 2));
    expect(predictedMs.auto).toBeLessThanOrEqual(Math.min(predictedMs.rows, predictedMs.channels) * 1.001);
  });
});

test('messages take from computing what a device handles them, but nothing while it waits', () => {
  const { graph, division } = divideByRows(randomModel(5, 12).graph, 2);
  const room = lower(graph, { ...division, sendFirst: true }, [[0], [1]]);
  const perMs = 100;
  const totalMs = (handledBytesPerMs: number, link = localLink) =>
    simulate(room, { devices: [{ ...referenceDevice, handledBytesPerMs }], link, host: 0 }).totalMs;
  const free = totalMs(Number.POSITIVE_INFINITY);
  const { bytes } = simulate(room, cost);
  expect(totalMs(perMs)).toBeGreaterThan(free);
  expect(totalMs(perMs)).toBeLessThanOrEqual(free + (2 * bytes) / perMs);
  // On a link that is slow enough, devices wait for longer than they handle.
  const slowLink = { ...localLink, bytesPerMs: perMs / 100, roundTripMs: 1000 };
  const waited = totalMs(perMs, slowLink) / totalMs(Number.POSITIVE_INFINITY, slowLink);
  expect(waited).toBeLessThan(totalMs(perMs) / free);
  expect(waited).toBeCloseTo(1, 2);
});

test('a faster link and faster devices are never predicted to be slower', () => {
  const { graph, division } = divideByRows(randomModel(5, 12).graph, 3);
  const room = lower(graph, division, [[0], [1], [2]]);
  const { totalMs } = simulate(room, cost);
  const fastLink = { ...localLink, bytesPerMs: localLink.bytesPerMs * 4, messageMs: 0, roundTripMs: 0 };
  expect(simulate(room, { ...cost, link: fastLink }).totalMs).toBeLessThanOrEqual(totalMs);
  const fast = { ...referenceDevice, macsPerMs: referenceDevice.macsPerMs * 2, nodeMs: 0 };
  expect(simulate(room, { ...cost, devices: [fast] }).totalMs).toBeLessThanOrEqual(totalMs);
});
