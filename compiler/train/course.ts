/**
 * The course of a thinning run. A trunk goes from level to level of kept ratio at the full rate; from each level a
 * branch leaves in which the rate falls to nothing, and whose end is that level's result. One run so gives a whole curve
 * of settled networks, and no level pays for the way to it again.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { keepAt } from './thinning.ts';

export interface CourseSettings {
  /** Kept ratios, falling from level to level. */
  readonly levels: readonly number[];
  /** The level that matters most: settled as soon as the trunk reaches it, with twice the steps. */
  readonly target: number;
  /** Of the whole course, branches included. */
  readonly steps: number;
}

export interface Segment {
  readonly kind: 'trunk' | 'branch';
  /** Kept ratio at its end. */
  readonly keep: number;
  /** Kept ratio that it begins with. */
  readonly from: number;
  /** Steps done before it. */
  readonly start: number;
  readonly steps: number;
}

/** Shares of steps by level. */
const shares = { trunk: 1, branch: 1.5, targetTrunk: 1.5, targetBranch: 3 } as const;
/** Share of a trunk segment in which it thins; in the rest the network adapts. */
const thinningShare = 0.6;
/** Times that a trunk segment thins. */
const thinnings = 12;
/** Share of the first segment in which the rate rises. */
const warmUpShare = 0.25;

/**
 * The target is settled first, then the others from the lowest kept ratio up. Throws USAGE for steps that do not reach
 * every level: one without a step of its own would be named by a ratio that it was never thinned to.
 */
export function courseOf(settings: CourseSettings): readonly Segment[] {
  const course = segmentsOf(settings);
  if (course.every(isWalked)) return course;
  let enough = settings.steps + 1;
  while (!segmentsOf({ ...settings, steps: enough }).every(isWalked)) enough++;
  const ratios = course.filter(({ kind }) => kind === 'branch').map(({ keep }) => keep);
  throw new StarlingError(
    'USAGE',
    `Expected at least ${enough} steps for the kept ratios ${ratios.join(', ')}, got ${settings.steps}; give more --steps or fewer --levels.`,
  );
}

function isWalked({ steps }: Segment): boolean {
  return steps > 0;
}

function segmentsOf({ levels, target, steps }: CourseSettings): readonly Segment[] {
  const falling = [...new Set([...levels, target])].sort((a, b) => b - a);
  const trunk = falling.map((keep, i) => ({
    kind: 'trunk' as const,
    keep,
    from: falling[i - 1] ?? 1,
    share: keep === target ? shares.targetTrunk : shares.trunk,
  }));
  const branch = (keep: number) => ({
    kind: 'branch' as const,
    keep,
    from: keep,
    share: keep === target ? shares.targetBranch : shares.branch,
  });
  const rest = falling.filter((keep) => keep !== target).reverse();
  const order = [
    ...trunk.filter(({ keep }) => keep >= target),
    branch(target),
    ...trunk.filter(({ keep }) => keep < target),
    ...rest.map(branch),
  ];
  const total = order.reduce((sum, { share }) => sum + share, 0);
  let done = 0;
  let start = 0;
  return order.map(({ share, ...segment }) => {
    done += share;
    const end = Math.round((done / total) * steps);
    const result = { ...segment, start, steps: end - start };
    start = end;
    return result;
  });
}

/** The segment that a step (counted from 0) belongs to; the last one beyond the end. */
export function segmentAt(course: readonly Segment[], step: number): Segment | undefined {
  return course.find(({ start, steps }) => step < start + steps) ?? course.at(-1);
}

export const falls = ['linear', 'cosine'] as const;

export interface CourseRate {
  readonly peak: number;
  /** How it falls along a branch. */
  readonly fall: (typeof falls)[number];
}

/** Constant along the trunk after a warm-up, falling to nothing along a branch. Without thinning that is one cycle. */
export function courseRate(course: readonly Segment[], { peak, fall }: CourseRate, step: number): number {
  const segment = segmentAt(course, step);
  if (segment === undefined) return 0;
  const { kind, start, steps } = segment;
  const left = (start + steps - step) / steps;
  if (kind === 'branch') return peak * (fall === 'linear' ? left : 0.5 * (1 - Math.cos(Math.PI * left)));
  return start === 0 ? Math.min(peak, (peak * (step + 1)) / (warmUpShare * steps)) : peak;
}

/** The kept ratio to thin to before a step, or undefined where nothing is to be thinned. */
export function courseKeep(course: readonly Segment[], step: number): number | undefined {
  const segment = segmentAt(course, step);
  if (segment === undefined || segment.kind === 'branch') return undefined;
  const { start, steps, from, keep } = segment;
  // The last thinning is before the segment's last step, however short it is.
  const length = Math.min(Math.round(thinningShare * steps), steps - 1);
  const every = Math.max(1, Math.round(length / thinnings));
  return keepAt({ from, to: keep, start, end: start + length, every }, step);
}
