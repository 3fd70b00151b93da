/** What every pass of the normaliser is: a model in, a model out, and what it may use. */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';

export interface PassContext {
  readonly backend: Backend;
  /** Shapes of inputs that the model leaves open, by input name. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
}

export type Pass = (model: Model, context: PassContext) => Model | Promise<Model>;
