/** A model with the concrete shapes of a training's batches. */
import { createHeapBackend } from '../backends/ortHeap.ts';
import { openBatch } from '../compiler/normalise/batchOpen.ts';
import { type NormalisedGraph, normaliseModel } from '../compiler/normalise/normaliseModel.ts';
import type { Model } from '../graph/graph.ts';
import { StarlingError } from '../protocol/errors.ts';

export interface BatchShape {
  readonly batch: number;
  /** Height and width of a sample. */
  readonly size: readonly [number, number];
}

/** Throws MODEL_UNSUPPORTED for a model that takes none such. */
export async function normaliseForTraining(
  model: Model,
  { batch, size }: BatchShape,
): Promise<NormalisedGraph> {
  const [input, ...others] = model.graph.inputs;
  if (input === undefined || others.length > 0) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `Training expects a model of one input, this one has ${others.length + (input === undefined ? 0 : 1)}.`,
    );
  }
  const heap = await createHeapBackend();
  const shapes = { [input.name]: [batch, 3, ...size] };
  if (input.shape?.[0] !== 1 || batch === 1) return normaliseModel(model, { backend: heap, shapes });
  // Made for one sample: the batch is opened where that is possible.
  const single = await normaliseModel(model, { backend: heap, shapes: { [input.name]: [1, 3, ...size] } });
  if (!single.batchOpen) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      'The model takes one sample at a time, and its batch cannot be opened; train it with --batch 1.',
    );
  }
  return normaliseModel(openBatch(single.model), { backend: heap, shapes });
}
