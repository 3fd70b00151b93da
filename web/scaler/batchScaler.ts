/**
 * Finds the largest batch that keeps the objective, by a bracketed search: between the largest batch known to keep
 * it and the smallest known to miss it, at the place where the line through the nearest measurements meets it.
 */
import type { Measured } from './measurements.ts';
import {
  bandStart,
  highestStep,
  knownOrMeasured,
  type PolicyContext,
  searchMargin,
  worthwhileGain,
} from './policyContext.ts';
import type { Search, Setting } from './setting.ts';

/** The best setting with so many instances: batch 1 where none keeps the objective. */
export function* searchBatch(
  context: PolicyContext,
  fixed: { readonly instances: number; readonly threads: number },
): Search<Setting> {
  const known = yield* knownOrMeasured(context, firstSetting(context, fixed), 'Searching the batch size.');
  for (let last = known.setting.batch; ; ) {
    const next = nextBatch(context, fixed, last);
    if (next.batch === null) return { batch: next.best, ...fixed };
    yield* knownOrMeasured(context, { batch: next.batch, ...fixed }, next.reason);
    last = next.batch;
  }
}

function firstSetting({ measurements, current }: PolicyContext, fixed: Omit<Setting, 'batch'>): Setting {
  const tried = measurements.all.filter(
    ({ setting, assumed }) =>
      !assumed && setting.instances === fixed.instances && setting.threads === fixed.threads,
  );
  if (tried.length > 0) return tried[0]?.setting ?? { batch: 1, ...fixed };
  const isHere = current.instances === fixed.instances && current.threads === fixed.threads;
  return { batch: isHere ? current.batch : 1, ...fixed };
}

type Next =
  | { readonly batch: number; readonly reason: string }
  | { readonly batch: null; readonly best: number };

function nextBatch(
  { measurements, objective, limits }: PolicyContext,
  fixed: Omit<Setting, 'batch'>,
  last: number,
): Next {
  const points = measurements.all
    .filter(({ setting }) => setting.instances === fixed.instances && setting.threads === fixed.threads)
    .sort((a, b) => a.setting.batch - b.setting.batch);
  const target = searchMargin * objective.p95Ms;
  const known = points.filter(({ assumed }) => !assumed);
  const above = known.find(({ p95Ms }) => p95Ms > target);
  const missing = above?.setting.batch ?? limits.maxBatch + 1;
  const below = known.findLast(({ setting, p95Ms }) => p95Ms <= target && setting.batch < missing);
  const keeping = below?.setting.batch ?? 0;
  const done = { batch: null, best: Math.max(1, keeping) } as const;
  if (missing - keeping <= 1) return done;
  const meets = whereItMeets(points, below, above, target);
  if (below !== undefined) {
    const gain = (Math.floor(meets) / keeping) * (below.p95Ms / target);
    const isInBand = below.p95Ms >= bandStart * objective.p95Ms;
    if (isInBand && (meets < keeping + 0.7 || gain < worthwhileGain)) return done;
    const highest = Math.min(missing - 1, highestStep(keeping, limits.maxBatch));
    const batch = Math.min(Math.max(Math.floor(meets), keeping + 1), highest);
    const ms = Math.round(below.p95Ms * 10) / 10;
    return { batch, reason: `Batch ${keeping} takes ${ms} ms at p95, which leaves room: trying ${batch}.` };
  }
  const batch = Math.min(Math.max(Math.floor(meets), 1), missing - 1);
  return { batch, reason: `Batch ${last} takes too long: trying ${batch}.` };
}

/** The batch, as a real number, at which the latency reaches `target`. */
function whereItMeets(
  points: readonly Measured[],
  below: Measured | undefined,
  above: Measured | undefined,
  target: number,
): number {
  const b = ({ setting }: Measured) => setting.batch;
  let [left, right] = [below, above];
  // Outside of what was measured the line is continued, also from what is only assumed.
  if (right === undefined && below !== undefined) {
    right = points.find((point) => point.assumed && b(point) > b(below) && point.p95Ms > below.p95Ms);
    if (right === undefined) {
      right = below;
      left = points.findLast((point) => b(point) < b(below));
    }
  } else if (left === undefined && above !== undefined) {
    left = points.findLast((point) => point.assumed && b(point) < b(above) && point.p95Ms < above.p95Ms);
    if (left === undefined) {
      left = above;
      right = points.find((point) => b(point) > b(above));
    }
  }
  const nearest = below ?? above;
  if (nearest === undefined) return 1;
  if (left === undefined || right === undefined) return (b(nearest) * target) / nearest.p95Ms;
  const slope = (right.p95Ms - left.p95Ms) / (b(right) - b(left));
  if (slope <= 0) return below === undefined ? b(nearest) / 2 : 4 * b(nearest);
  return b(left) + (target - left.p95Ms) / slope;
}
