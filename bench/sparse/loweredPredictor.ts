/**
 * A divided model as one device with all shards runs it, in one session, for inputs of any size that the original took.
 * What travels narrowed is read narrowed, as in every placement.
 */
import type { Model } from '../../graph/graph.ts';
import { byteCount, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { allOnOne } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { programGraph } from '../../runtime/stageModel.ts';
import { buildBlob, wholeWeights } from '../../runtime/weights/blob.ts';
import { type ModelPredictor, openPredictor } from './predictor.ts';

export interface Divided {
  readonly model: Model;
  readonly division: Division;
}

export async function openLoweredPredictor(
  { model, division }: Divided,
  original: Model,
  backend: Backend,
): Promise<ModelPredictor> {
  const [program] = lower(model.graph, division, allOnOne(division.numShards)).programs;
  if (program === undefined) throw new Error('One device is expected to have a program.');
  const blob = buildBlob(program, model, wholeWeights(model));
  const graph = programGraph(program, true);
  const weights = [...program.weights].map(([name, { dataType, dims }]): readonly [string, Tensor] => {
    const offset = blob.offsets.get(name) ?? 0;
    return [name, { dataType, dims, data: blob.data.slice(offset, offset + byteCount(dataType, dims)) }];
  });
  const lowered = {
    ...model,
    graph: { ...graph, initializers: new Map([...graph.initializers, ...weights]) },
  };
  return openPredictor(lowered, original, backend);
}
