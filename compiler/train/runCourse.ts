/**
 * Walks a course: trains segment after segment, keeps the trunk's state where branches leave, and hands over each
 * level's settled network. It goes on wherever it was interrupted. Files are the caller's.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { Segment } from './course.ts';
import { type LoopOptions, runTraining } from './loop.ts';
import type { Trainer } from './trainerTypes.ts';

export interface CourseOptions extends Omit<LoopOptions, 'steps' | 'bestFrom' | 'save'> {
  readonly course: readonly Segment[];
  /** Names are `latest`, `best`, and `trunk-` with the kept ratio. */
  save(name: string, checkpoint: Uint8Array): Promise<void>;
  load(name: string): Promise<Uint8Array | undefined>;
  /** Worth of the best evaluation of a run that is resumed, between two steps. */
  bestBetween(start: number, end: number): number | undefined;
  /** The trainer holds the best network of the branch; called again where a run stopped in it. */
  settled(segment: Segment): Promise<void>;
}

/** Returns whether it was aborted before its end. Throws what runTraining throws. */
export async function runCourse(trainer: Trainer, options: CourseOptions): Promise<boolean> {
  for (const segment of options.course) {
    const end = segment.start + segment.steps;
    // Saved at the end of a segment, before what follows it: done once more.
    if (trainer.step > end) continue;
    if (trainer.step === segment.start && segment.start > 0) await begin(trainer, segment, options);
    const best = options.bestBetween(segment.start + 1, end);
    const { aborted } = await runTraining(
      trainer,
      { ...options, steps: end, bestFrom: segment.start + 1 },
      best,
    );
    if (aborted) return true;
    if (segment.kind === 'trunk') await options.save(trunkName(segment.keep), trainer.save());
    else {
      const latest = trainer.save();
      trainer.restore((await options.load('best')) ?? latest);
      await options.settled(segment);
      trainer.restore(latest);
    }
  }
  return false;
}

/** A branch begins where the trunk reached its level; a trunk after a branch goes on where the trunk was left. */
async function begin(trainer: Trainer, segment: Segment, options: CourseOptions): Promise<void> {
  const name = trunkName(segment.from);
  const state = await options.load(name);
  if (state === undefined) {
    throw new StarlingError(
      'FILE_UNREADABLE',
      `The run needs its checkpoint "${name}", which is missing; begin again in an empty folder.`,
    );
  }
  trainer.restore(state, segment.start);
}

function trunkName(keep: number): string {
  return `trunk-${keep}`;
}
