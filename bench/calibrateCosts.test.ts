import { expect, it } from 'vitest';
import { divideByChannels } from '../compiler/divide/divideChannels.ts';
import { divideByRows } from '../compiler/divide/divideRows.ts';
import { lower } from '../runtime/lower/lower.ts';
import { referenceDevice, scaleDevice } from '../runtime/predict/costModel.ts';
import { simulate } from '../runtime/predict/simulate.ts';
import { randomModel } from '../tests/support/randomGraph.ts';
import { calibrateCosts } from './calibrateCosts.ts';

it('finds the device and the link again that made the times', () => {
  const { graph } = randomModel(7, 14);
  const device = scaleDevice(referenceDevice, 0.4);
  const link = { roundTripMs: 0.2, bytesPerMs: 3000, messageMs: 0.6 };
  const measured = (room: ReturnType<typeof lower>) => ({
    room,
    ms: simulate(room, { devices: [device], link, host: 0 }).totalMs,
  });
  const rows = divideByRows(graph, 2);
  const found = calibrateCosts(
    measured(lower(graph, { numShards: 1, shardings: new Map() }, [[0]])),
    measured(lower(graph, divideByChannels(graph, 2), [[0], [1]])),
    measured(lower(rows.graph, rows.division, [[0], [1]])),
  );
  expect(found.device.macsPerMs / device.macsPerMs).toBeCloseTo(1, 3);
  for (const [room, ms] of [
    [
      lower(graph, divideByChannels(graph, 2), [[0], [1]]),
      measured(lower(graph, divideByChannels(graph, 2), [[0], [1]])).ms,
    ],
  ] as const) {
    expect(simulate(room, { devices: [found.device], link: found.link, host: 0 }).totalMs / ms).toBeCloseTo(
      1,
      1,
    );
  }
});
