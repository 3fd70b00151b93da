/** What each device did during one run, as spans that can be drawn and sums that can be read. Pure; draws nothing. */
import type { RunTimeline } from '../../protocol/timeline.ts';

/** Of a device, computing, packing and waiting fill the run; the network carries what it receives at the same time. */
export const activities = ['compute', 'serialise', 'wait', 'network'] as const;
export type Activity = (typeof activities)[number];

/** Milliseconds since the run began. */
export interface GanttSpan {
  readonly activity: Activity;
  readonly startMs: number;
  readonly endMs: number;
}

export interface GanttRow {
  /** Id of the device. */
  readonly device: string;
  readonly spans: readonly GanttSpan[];
  /** Of spans that overlap, the time is counted once. */
  readonly sums: { readonly [Name in Activity]: number };
}

interface Interval {
  readonly startMs: number;
  readonly endMs: number;
}

/** One row per device, in the order of the placement; everything is cut to the run's own time. */
export function ganttRows({ devices, transfers, totalMs }: RunTimeline): GanttRow[] {
  return devices.map(({ device, stages }, index) => {
    const compute = joined(
      stages.map(({ startMs, computedMs }) => ({ startMs, endMs: computedMs })),
      totalMs,
    );
    const busy = joined(
      stages.map(({ startMs, endMs }) => ({ startMs, endMs })),
      totalMs,
    );
    const arriving = transfers.flatMap(({ to, queuedMs, arrivedMs }) =>
      to === index && queuedMs !== null && arrivedMs !== null
        ? [{ startMs: queuedMs, endMs: arrivedMs }]
        : [],
    );
    // While one stage's values are packed the next may compute already, and that counts.
    const intervals: { readonly [Name in Activity]: readonly Interval[] } = {
      compute,
      serialise: busy.flatMap((interval) => gaps(compute, interval)),
      wait: gaps(busy, { startMs: 0, endMs: totalMs }),
      network: joined(arriving, totalMs),
    };
    return {
      device,
      spans: activities.flatMap((activity) => intervals[activity].map((one) => ({ activity, ...one }))),
      sums: {
        compute: lengthOf(intervals.compute),
        serialise: lengthOf(intervals.serialise),
        wait: lengthOf(intervals.wait),
        network: lengthOf(intervals.network),
      },
    };
  });
}

/** The same time as intervals in order that neither overlap nor touch, between 0 and `limitMs`. */
function joined(intervals: readonly Interval[], limitMs: number): Interval[] {
  const result: { startMs: number; endMs: number }[] = [];
  for (const { startMs, endMs } of intervals.toSorted((a, b) => a.startMs - b.startMs)) {
    const [start, end] = [Math.max(0, startMs), Math.min(limitMs, endMs)];
    if (end <= start) continue;
    const last = result.at(-1);
    if (last !== undefined && start <= last.endMs) last.endMs = Math.max(last.endMs, end);
    else result.push({ startMs: start, endMs: end });
  }
  return result;
}

/** What `within` has beside these intervals, which are in order and apart. */
function gaps(intervals: readonly Interval[], within: Interval): Interval[] {
  const result: Interval[] = [];
  let { startMs } = within;
  for (const interval of intervals) {
    if (interval.endMs <= startMs || interval.startMs >= within.endMs) continue;
    if (interval.startMs > startMs) result.push({ startMs, endMs: interval.startMs });
    startMs = interval.endMs;
  }
  if (startMs < within.endMs) result.push({ startMs, endMs: within.endMs });
  return result;
}

function lengthOf(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, { startMs, endMs }) => sum + endMs - startMs, 0);
}
