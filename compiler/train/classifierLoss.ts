/** The loss of a classifier with labels, a teacher, or both, and the names of the inputs that it adds. */
import type { LossTerm } from './losses.ts';

/** Inputs of the graph of a step: one-hot labels, and the teacher's logits. */
export const labelInput = 'training/labels';
export const teacherInput = 'training/teacher';

export interface ClassifierLoss {
  readonly labelWeight: number;
  /** Share of the label that goes to all classes evenly. */
  readonly smoothing: number;
  /** 0 where there is no teacher. */
  readonly teacherWeight: number;
  readonly temperature: number;
}

export function lossTerms(loss: ClassifierLoss, output: string): readonly LossTerm[] {
  const { labelWeight, teacherWeight, smoothing, temperature } = loss;
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
