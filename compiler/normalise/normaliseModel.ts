/**
 * Any ONNX model as a graph of opset 17 in which every value has a concrete type and shape, constants are
 * initializers, and nothing is left that inference does not need. One list of passes, verified after each.
 */
import type { Graph, Model } from '../../graph/graph.ts';
import { verifyGraph } from '../../graph/verify.ts';
import type { Backend } from '../../runtime/backend.ts';
import { isBatchOpen } from './batchOpen.ts';
import { constantNodesToInitializers } from './constantNodes.ts';
import { fixInputShapes } from './fixInputShapes.ts';
import { foldBatchNormalization } from './foldBatchNormalization.ts';
import { fuseLayerNormalization } from './fuseLayerNormalization.ts';
import { inlineIfs } from './inlineIfs.ts';
import { liftOpset } from './liftOpset.ts';
import { measureValues, measureWhatIsNew } from './measureValues.ts';
import { openReshapes } from './openReshapes.ts';
import type { Pass } from './pass.ts';
import { raiseToSeven } from './raiseToSeven.ts';
import { removeIdentities } from './removeIdentities.ts';
import { removeUnused } from './removeUnused.ts';
import { resizesToProducts } from './resizesToProducts.ts';
import { splitsToSlices } from './splitsToSlices.ts';
import { uniqueNames } from './uniqueNames.ts';

export interface NormaliseOptions {
  /** Runs the model on small random inputs, where that is needed. */
  readonly backend: Backend;
  /** Shapes of inputs that the model leaves open, by input name; an open first length is 1 without one. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
}

export interface NormalisedGraph {
  /** The model at opset 17; other domains keep their versions. */
  readonly model: Model;
  /** `model.graph`: every input, output and value has a concrete data type and shape. */
  readonly graph: Graph;
  /** Whether the graph also runs batches (its first length is another): shown from the graph, or tried with two samples. */
  readonly batchOpen: boolean;
}

const passes: readonly Pass[] = [
  uniqueNames,
  fixInputShapes,
  constantNodesToInitializers,
  raiseToSeven,
  removeUnused,
  // Lifting asks for shapes and constants; what it adds is measured again below.
  measureValues,
  inlineIfs,
  resizesToProducts,
  liftOpset,
  splitsToSlices,
  removeIdentities,
  fuseLayerNormalization,
  foldBatchNormalization,
  removeUnused,
  measureWhatIsNew,
  openReshapes,
  removeUnused,
];

/**
 * Throws SHAPE_OPEN (which `--shape` to pass), INPUT_INVALID (a shape that does not fit), MODEL_UNSUPPORTED
 * (operator and node that cannot be lifted or run).
 */
export async function normaliseModel(
  model: Model,
  { backend, shapes = {} }: NormaliseOptions,
): Promise<NormalisedGraph> {
  let current = model;
  for (const pass of passes) {
    current = await pass(current, { backend, shapes });
    verifyGraph(current.graph);
  }
  return { model: current, graph: current.graph, batchOpen: await isBatchOpen(current, backend) };
}
