/** The parts of a device's time add up to the run, and each waits for what it really waited for. */
import { expect, it } from 'vitest';
import type { RunTimeline } from '../protocol/timeline.ts';
import { breakdownOf } from './breakdown.ts';

const stage = { level: 0, waitedFor: null };

const timeline: RunTimeline = {
  devices: [
    {
      device: 'host',
      stages: [
        { ...stage, stage: 0, startMs: 1, computedMs: 11, endMs: 13 },
        // The peer had it at 20, it came at 26, and ran at 27.
        { ...stage, stage: 1, startMs: 27, computedMs: 37, endMs: 37, waitedFor: 4 },
        // It had come long before.
        { ...stage, stage: 2, startMs: 38, computedMs: 40, endMs: 41, waitedFor: 4 },
      ],
    },
    { device: 'silent', stages: [] },
  ],
  transfers: [{ kind: 'tensor', id: 4, from: 1, to: 0, bytes: 8, queuedMs: 20, handedMs: 20, arrivedMs: 26 }],
  totalMs: 45,
};

it('divides the time between compute, serialising, peer, network and the device itself', () => {
  const [host, silent] = breakdownOf(timeline);
  expect(host).toEqual({
    computeMs: 22,
    serialiseMs: 3,
    peerMs: 7,
    networkMs: 6,
    localMs: 3,
    tailMs: 4,
  });
  const sum = Object.values(host ?? {}).reduce((all, ms) => all + ms, 0);
  expect(sum).toBe(timeline.totalMs);
  expect(silent?.tailMs).toBe(45);
});
