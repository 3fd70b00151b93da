/** From a trained graph to a model like the one that training began with: normalisation folded in, batch open. */
import type { Graph, Model } from '../../graph/graph.ts';
import { verifyGraph } from '../../graph/verify.ts';
import { openBatch } from '../normalise/batchOpen.ts';
import { foldBatchNormalization } from '../normalise/foldBatchNormalization.ts';
import type { PassContext } from '../normalise/pass.ts';
import { removeUnused } from '../normalise/removeUnused.ts';

/** `original` is the normalised model; nodes keep their names, so that a division of the one fits the other. */
export async function finishTraining(original: Model, trained: Graph, context: PassContext): Promise<Model> {
  let model: Model = { ...original, graph: trained };
  for (const pass of [foldBatchNormalization, removeUnused]) model = await pass(model, context);
  const opened = openBatch(model);
  verifyGraph(opened.graph);
  return opened;
}
