/** The same picture through a session several times: how long a run takes, on this device alone and on all. Shows nothing. */
import { type Classification, classifyPixels } from '../../classify.ts';
import type { DeviceChoice } from '../../coordinator/placer.ts';
import type { Session } from '../../session.ts';

export interface TimedRuns {
  /** Of the last run. */
  readonly answer: Classification;
  readonly medianMs: number;
}

export interface TimedRunsOptions {
  readonly signal: AbortSignal;
  readonly count: number;
  /** Classes that are told. */
  readonly top?: number;
}

/** One run of a small network is a moment; slow ones are not kept waiting for a finer figure. */
const enoughMs = 400;

/** At most `count` runs, fewer where they take long. Rejects as `classifyPixels` does. */
export async function timedRuns(
  session: Session,
  rgba: Uint8ClampedArray,
  { signal, count, top }: TimedRunsOptions,
): Promise<TimedRuns> {
  const times: number[] = [];
  for (let spentMs = 0; ; ) {
    const isLast = times.length + 1 >= count || spentMs > enoughMs;
    const answer = await classifyPixels(session, rgba, { signal, timeline: isLast, top });
    times.push(answer.report.totalMs);
    spentMs += answer.report.totalMs;
    if (isLast) return { answer, medianMs: times.sort((a, b) => a - b)[times.length >> 1] ?? 0 };
  }
}

export interface ComparedRuns {
  readonly aloneMs: number;
  readonly roomMs: number;
  readonly devices: number;
}

const comparedRuns = 25;

/** One device, then all of them. Rejects as `classifyPixels` does; the session uses `after` when this settles. */
export async function compareRuns(
  session: Session,
  rgba: Uint8ClampedArray,
  { signal, after }: { readonly signal: AbortSignal; readonly after: DeviceChoice | undefined },
): Promise<ComparedRuns> {
  const measure = async (devices: DeviceChoice) => {
    session.useDevices(devices);
    // Before the clock starts: shards change hands, and engines are slow at first.
    await timedRuns(session, rgba, { signal, count: 3 });
    return timedRuns(session, rgba, { signal, count: comparedRuns });
  };
  try {
    const alone = await measure('own');
    const room = await measure('all');
    const { devices } = room.answer.report;
    return { aloneMs: alone.medianMs, roomMs: room.medianMs, devices };
  } finally {
    session.useDevices(after);
  }
}
