/** What a network is trained towards, by kind of task, as terms of a loss; and the names of the inputs these add. */
import type { LossTerm } from './losses.ts';

/** Inputs of the graph of a step: one-hot labels, and the teacher's output. */
export const labelInput = 'training/labels';
export const teacherInput = 'training/teacher';

export interface ClassifierObjective {
  readonly type: 'classify';
  readonly labelWeight: number;
  /** Share of the label that goes to all classes evenly. */
  readonly smoothing: number;
  /** 0 where there is no teacher. */
  readonly teacherWeight: number;
  readonly temperature: number;
}

/**
 * All but `classify` take a teacher and no labels:
 * - segment: the teacher's classes of every pixel, maps along axis 1;
 * - restore: the teacher's picture, by absolute differences (super-resolution);
 * - detect: the teacher's boxes, confidences and class scores, [batch, places, 4 + 1 + classes] (YOLOX);
 * - imitate: the teacher's numbers, by squared differences.
 */
export type Objective =
  | ClassifierObjective
  | { readonly type: 'segment'; readonly temperature: number }
  | { readonly type: 'restore' | 'detect' | 'imitate' };

export function objectiveTerms(objective: Objective, output: string): readonly LossTerm[] {
  const taught = { output, target: teacherInput, weight: 1 } as const;
  switch (objective.type) {
    case 'classify':
      return classifierTerms(objective, output);
    case 'segment':
      return [{ ...taught, type: 'distillation', temperature: objective.temperature }];
    case 'restore':
      return [{ ...taught, type: 'absolute' }];
    case 'detect':
      return [{ ...taught, type: 'boxes' }];
    case 'imitate':
      return [{ ...taught, type: 'squared' }];
  }
}

function classifierTerms(objective: ClassifierObjective, output: string): readonly LossTerm[] {
  const { labelWeight, teacherWeight, smoothing, temperature } = objective;
  const labels: LossTerm = {
    type: 'cross-entropy',
    output,
    target: labelInput,
    weight: labelWeight,
    smoothing,
  };
  const imitation: LossTerm = {
    type: 'distillation',
    output,
    target: teacherInput,
    weight: teacherWeight,
    temperature,
  };
  return [...(labelWeight > 0 ? [labels] : []), ...(teacherWeight > 0 ? [imitation] : [])];
}
