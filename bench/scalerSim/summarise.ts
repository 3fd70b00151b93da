/** The few numbers that say whether the scaler does what it should. */

import { mean } from '../figures.ts';
import type { Compared } from './compare.ts';
import type { Followed } from './follow.ts';
import type { Replayed } from './replay.ts';
import { type EstimatorReport, sloShares } from './replayReport.ts';

export interface Results {
  readonly estimator: EstimatorReport | null;
  readonly replays: readonly Replayed[] | null;
  readonly curves: readonly Compared[];
  readonly followed: readonly Followed[];
}

export function summarise({ estimator, replays, curves, followed }: Results) {
  const kept = curves.filter(({ best }) => best.keeps);
  const decided = curves.filter(({ rightApproach }) => rightApproach !== 'either');
  const filled = followed.filter(({ policy }) => policy === 'joint').flatMap(({ steps }) => steps);
  return {
    estimatorError: estimator?.leaveOneOut ?? null,
    chosenWithinOneStep: replays === null ? null : bySlo(replays, (r) => Math.abs(r.chosen - r.largest) <= 1),
    chosenWithinOneStepOfFastest:
      replays === null ? null : bySlo(replays, (r) => Math.abs(r.chosen - r.fastest) <= 1),
    networks: replays === null ? null : replays.length / sloShares.length,
    windowsToConverge: replays === null ? null : spread(replays.map((r) => r.windowsToConverge)),
    violations: replays === null ? null : violationsOf(replays.filter(({ reachable }) => reachable)),
    unreachableObjectives: replays?.filter(({ reachable }) => !reachable).length ?? null,
    curveCases: curves.length,
    regret: { mean: mean(kept.map((c) => c.regret)), max: Math.max(...kept.map((c) => c.regret)) },
    servedRegret: {
      mean: mean(kept.map((c) => c.servedRegret)),
      max: Math.max(...kept.map((c) => c.servedRegret)),
    },
    /** Throughput of joint within the objective over the best of batching, instances and Clipper. */
    jointOverBest: {
      min: Math.min(...kept.map((c) => c.jointOverBest)),
      mean: mean(kept.map((c) => c.jointOverBest)),
      /** Cases in which joint served less, by more than a quarter of a percent and three standard errors of the ratio. */
      below: kept.filter((c) => c.jointOverBest + Math.max(0.0025, 3 * c.jointOverBestError) < 1).length,
    },
    jointWindowsToConverge: spread(kept.map((c) => c.policies.joint.windowsToConverge)),
    profileMs: spread(curves.map((c) => c.profileMs)),
    jointViolations: {
      mean: mean(kept.map((c) => c.policies.joint.violations)),
      max: Math.max(...kept.map((c) => c.policies.joint.violations)),
    },
    rightApproach: {
      right: decided.filter((c) => c.profiledApproach === c.rightApproach).length,
      of: decided.length,
      either: curves.length - decided.length,
    },
    following: {
      windows: spread(filled.map(({ windows }) => windows)),
      violations: mean(filled.map(({ violations }) => violations)),
      maxRegret: Math.max(...filled.map(({ regret }) => regret ?? 0)),
    },
  };
}

function bySlo(replays: readonly Replayed[], isNear: (replay: Replayed) => boolean): Record<string, number> {
  return Object.fromEntries(
    sloShares.map((share) => [
      String(share),
      replays.filter((replay) => replay.sloShare === share && isNear(replay)).length,
    ]),
  );
}

function violationsOf(replays: readonly Replayed[]) {
  const windows = replays.reduce((sum, replay) => sum + replay.windows, 0);
  const missed = replays.reduce((sum, replay) => sum + replay.violations * replay.windows, 0);
  return {
    share: missed / windows,
    max: Math.max(...replays.map(({ violations }) => violations)),
    above1Percent: replays.filter(({ violations }) => violations > 0.01).length,
    of: replays.length,
  };
}

function spread(values: readonly number[]) {
  return { mean: mean(values), max: Math.max(...values) };
}
