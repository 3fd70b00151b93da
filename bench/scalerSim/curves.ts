/**
 * Latency curves of the simulator: how long a batch takes, by its items and by the batches in flight beside it.
 * Families with two knobs that pay differently, and the curves measured in WASM.
 */
import { existsSync, readFileSync } from 'node:fs';
import { array, number, object, parse, string } from 'valibot';
import type { ScalerLimits } from '../../web/scaler/setting.ts';
import type { LatencyCurve } from '../../web/scaler/testing/simulatedPool.ts';

export interface CurveCase {
  readonly name: string;
  readonly curve: LatencyCurve;
  readonly limits: ScalerLimits;
  /** Objectives, in milliseconds. */
  readonly objectives: readonly number[];
}

const bothKnobs: ScalerLimits = { maxBatch: 32, maxInstances: 8, threads: [1] };

/**
 * A GPU: `fixedMs` per batch and `perItemMs` per item, of which only `busy` of the fixed part occupies the device; the
 * rest (launching, copying) overlaps with other instances.
 */
export function gpuCurve(fixedMs: number, perItemMs: number, busy: number): LatencyCurve {
  return (items, inFlight) =>
    Math.max(fixedMs + perItemMs * items, inFlight * (busy * fixedMs + perItemMs * items));
}

/**
 * A sparse plan over a shaped link: `rounds` round trips per batch, whatever its items; computing and sending an item
 * occupy the devices and the link, each of which serves one batch at a time.
 */
export function linkCurve(
  rounds: number,
  roundTripMs: number,
  computeMs: number,
  sendMs: number,
): LatencyCurve {
  return (items, inFlight) =>
    Math.max(
      rounds * roundTripMs + items * (computeMs + sendMs),
      inFlight * items * Math.max(computeMs, sendMs),
    );
}

/** Measured batches on devices with `cores` cores: instances of `threads` threads are slowed down once all cores are taken. */
function coreCurve(batches: readonly number[], batchMs: readonly number[], cores: number): LatencyCurve {
  return (items, inFlight, threads) => {
    const speedUp = threads ** 0.8;
    return (interpolate(batches, batchMs, items) / speedUp) * Math.max(1, (inFlight * threads) / cores);
  };
}

function interpolate(xs: readonly number[], ys: readonly number[], x: number): number {
  const high = Math.max(
    1,
    xs.findIndex((value) => value >= x),
  );
  const [x0 = 1, x1 = 2, y0 = 1, y1 = 1] = [xs[high - 1], xs[high], ys[high - 1], ys[high]];
  return y0 + ((x - x0) / (x1 - x0)) * (y1 - y0);
}

/** Objectives as multiples of the latency of a single run. */
function objectives(curve: LatencyCurve, multiples: readonly number[]): number[] {
  return multiples.map((multiple) => multiple * curve(1, 1, 1));
}

function curveCase(name: string, curve: LatencyCurve, limits = bothKnobs): CurveCase {
  return { name, curve, limits, objectives: objectives(curve, [1.5, 3, 8]) };
}

const measuredSchema = object({
  curves: array(object({ model: string(), batches: array(number()), batchMs: array(number()) })),
});
const measuredFile = new URL('../results/scaler-batch-curves.json', import.meta.url);

/** In the result file's order; none where the file is missing. */
function measuredCases(): CurveCase[] {
  if (!existsSync(measuredFile)) return [];
  const { curves } = parse(measuredSchema, JSON.parse(readFileSync(measuredFile, 'utf8')));
  return curves.flatMap(({ model, batches, batchMs }) =>
    [1, 4].map((cores) =>
      curveCase(
        `WASM ${model}, ${cores} ${cores === 1 ? 'core' : 'cores'}`,
        coreCurve(batches, batchMs, cores),
      ),
    ),
  );
}

export function curveCases(): readonly CurveCase[] {
  return [
    curveCase('GPU 20 + 0.5 b, all of it busy', gpuCurve(20, 0.5, 1)),
    curveCase('GPU 20 + 0.5 b, a tenth busy', gpuCurve(20, 0.5, 0.1)),
    curveCase('GPU 5 + 2 b, half busy', gpuCurve(5, 2, 0.5)),
    curveCase('GPU 1 + 5 b, all of it busy', gpuCurve(1, 5, 1)),
    curveCase('link 20 ms x 12 rounds, 4 ms compute, 1 ms send', linkCurve(12, 20, 4, 1)),
    curveCase('link 5 ms x 6 rounds, 10 ms compute, 2 ms send', linkCurve(6, 5, 10, 2)),
    curveCase('link 40 ms x 4 rounds, 2 ms compute, 8 ms send', linkCurve(4, 40, 2, 8)),
    curveCase('threads: WASM 10 + 10 b, 4 cores', coreCurve([1, 32], [20, 330], 4), {
      ...bothKnobs,
      threads: [1, 2, 4],
    }),
    ...measuredCases(),
    // A run of a third of a second and more: a profile of all three settings would take a minute.
    curveCase('slow: 320 b, two devices', coreCurve([1, 32], [320, 32 * 320], 2)),
    curveCase('slow: link 60 ms x 8 rounds, 40 ms compute, 10 ms send', linkCurve(8, 60, 40, 10)),
  ];
}
