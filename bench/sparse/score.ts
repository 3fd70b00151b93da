/** A task's figures by one model, and what it decided, so that two models can be compared without running either twice. */
import type { Predict, Task } from '../../eval/task.ts';

export interface Scored {
  readonly count: number;
  readonly figures: Readonly<Record<string, number>>;
  /** Of each item: classes, labels of pixels, levels of a picture. */
  readonly decisions: readonly ArrayLike<number>[];
}

export type Run = (predict: Predict) => Promise<Scored>;

/** Closes over what the task's truth is. */
export function runnable<Truth>(task: Task<Truth>): Run {
  return async (predict) => {
    const score = task.createScore();
    const decisions: ArrayLike<number>[] = [];
    let count = 0;
    for await (const item of task.items()) {
      decisions.push(score.add(item.truth, await predict(item.input, item.dims)));
      count += item.count;
    }
    return { count, figures: score.figures(), decisions };
  };
}

/** Share of decisions that are alike; one that only one of them has counts as different. */
export function agreement(a: Scored, b: Scored): number {
  let [equal, all] = [0, 0];
  for (const [i, left] of a.decisions.entries()) {
    const right = b.decisions[i] ?? [];
    all += Math.max(left.length, right.length);
    for (let k = 0; k < left.length; k++) if (left[k] === right[k]) equal++;
  }
  return all === 0 ? 1 : equal / all;
}
