/** What a trainer is given, what it reports, and what it can do. The trainer itself is trainer.ts. */
import type { Graph } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { ExchangedValue, Kept } from './exchangedValues.ts';
import type { Objective } from './objective.ts';
import type { OptimiserOptions } from './optimiser.ts';
import type { ThinningScope } from './thinning.ts';
import type { TrainingData } from './trainingData.ts';

export interface TrainerOptions {
  readonly backend: Backend;
  /**
   * Normalised, with one input [batch, ...] and one output (logits for a classifier); its batch normalisations use the
   * batch's statistics in training.
   */
  readonly graph: Graph;
  /** Gives the outputs that are imitated, for the same input; without one only labels count. */
  readonly teacher?: Graph;
  readonly data: TrainingData;
  /** What shards exchange, thinned in place; absent where the model is not divided. */
  readonly exchanges?: readonly ExchangedValue[];
  readonly thinning?: {
    readonly scope: ThinningScope;
    /** Kept ratio to thin to before a step (from 0); undefined where nothing is due. */
    keepAt(step: number): number | undefined;
  };
  /** Type that features will travel as: with uint8, what is exchanged is rounded in training too. Default float32. */
  readonly wire?: 'float32' | 'uint8';
  readonly objective: Objective;
  readonly optimiser: OptimiserOptions;
  /** Learning rate of a step, counted from 0. */
  rateAt(step: number): number;
  /** Share of the running statistics that one batch replaces. */
  readonly statisticsMomentum: number;
  readonly seed: number;
}

export interface StepReport {
  /** Steps done, this one included. */
  readonly step: number;
  readonly loss: number;
  /** Of the gradients, before clipping. */
  readonly gradientNorm: number;
  readonly rate: number;
  /** Share of the batch classified correctly, augmented as it was; only with labels. */
  readonly accuracy?: number;
  readonly kept: Kept;
}

/** Of the network as it stands: the share classified correctly with labels, the mean loss against the teacher without. */
export interface EvaluationResult {
  readonly accuracy?: number | undefined;
  readonly loss?: number | undefined;
}

export interface Trainer {
  readonly step: number;
  /** Throws SESSION_FAILED. */
  trainStep(): Promise<StepReport>;
  /**
   * As its features travel, or exactly: with nothing rounded. A last, partial batch counts too (with labels; without, it is
   * left out where there is a whole one).
   */
  evaluate(data: TrainingData, exactly?: boolean): Promise<EvaluationResult>;
  /** Share that the teacher classifies correctly; undefined without labels or without a teacher. */
  teacherAccuracy(data: TrainingData): Promise<number | undefined>;
  save(): Uint8Array;
  /**
   * Goes on exactly where the checkpoint was saved, or counts on from `step`. Throws FILE_UNREADABLE for one of another
   * model.
   */
  restore(checkpoint: Uint8Array, step?: number): void;
  /** The graph with the weights as they are now (thinned out ones are 0) and the running statistics. */
  trainedGraph(): Graph;
  release(): Promise<void>;
}
