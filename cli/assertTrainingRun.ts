/** What no training should begin with, though every option by itself is right. Reads no files. */
import { courseOf } from '../compiler/train/course.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { TrainingRun } from './trainingRun.ts';

/** Throws USAGE, before anything is written. `taught`: there is a teacher besides the model itself. */
export function assertTrainingRun(run: TrainingRun, taught: boolean): void {
  const { keep, levels, steps, numShards, objective, start } = run;
  courseOf({ levels, target: keep, steps });
  if (numShards === 1 && [keep, ...levels].some((level) => level < 1)) {
    throw new StarlingError(
      'USAGE',
      'One shard exchanges nothing that could be thinned: give --shards 2 or more, or --keep 1 --levels "".',
    );
  }
  const imitates = objective.type !== 'classify' || objective.teacherWeight > 0;
  if (start === 'random' && !taught && imitates) {
    throw new StarlingError(
      'USAGE',
      'Random weights are nothing to imitate: give --teacher MODEL, or pictures with labels and --label-weight 1.',
    );
  }
}
