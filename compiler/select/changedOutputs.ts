/**
 * A model's outputs with one contraction's weights changed at a time. What lies before a contraction is the same and is
 * computed once, so that a change costs only what lies after it. Compares nothing.
 */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import { splitBias } from '../adjust/blocks.ts';
import type { Calibration } from '../calibrate/calibration.ts';
import { type Contraction, withWeights } from '../calibrate/contractions.ts';
import { rowWidth } from '../calibrate/patches.ts';
import { Walk } from '../calibrate/walk.ts';
import { gathered, type Outputs, outputNames } from './outputs.ts';

export interface ChangedOutputsInput {
  readonly model: Model;
  /** In the graph's order: outputs x width, the bias last. */
  readonly changes: ReadonlyMap<Contraction, Float64Array>;
  readonly calibration: Calibration;
  readonly backend: Backend;
  /** Bytes of values that may be held meanwhile. */
  readonly keptBytes: number;
}

export async function* changedOutputs({
  model,
  changes,
  calibration,
  backend,
  keptBytes,
}: ChangedOutputsInput): AsyncGenerator<readonly [Contraction, Outputs]> {
  const names = outputNames(model);
  const steps = [...[...changes.keys()].map(({ input }) => [input]), names];
  const walk = new Walk({ backend, calibration, keptBytes, steps });
  for (const [step, [contraction, weights]] of [...changes].entries()) {
    for await (const _ of walk.observe(model, step));
    const graph = withWeights(model.graph, contraction, ...splitBias(weights, rowWidth(contraction)));
    yield [contraction, await gathered(names, walk.ahead({ ...model, graph }, names))];
  }
}
