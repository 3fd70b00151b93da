/** What a sparse division costs and how it answers, on held-out inputs, against the dense division and the model in one piece. */

import type { Graph, Model } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { byteCount, float32View, type Tensor } from '../../graph/tensor.ts';
import type { SparseReport } from '../../protocol/plan.ts';
import type { Backend } from '../../runtime/backend.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division, Placement } from '../../runtime/lower/program.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import { batchSize } from '../calibrate/calibration.ts';
import type { Batch } from '../calibrate/prefix.ts';
import type { Split } from '../calibrate/splitCalibration.ts';
import { describeExchanges } from '../plan/exchanges.ts';
import { Comparator } from './compare.ts';
import { openLocalRoom } from './localRoom.ts';

export interface SparseReportInput {
  /** Before it was divided. */
  readonly original: Model;
  /** The division with nothing thinned. */
  readonly dense: Division;
  /** Adjusted, with its wire types, and its sparse division. */
  readonly model: Model;
  readonly division: Division;
  readonly openBatch: boolean;
  readonly sentFeatures: number;
  readonly denseFeatures: number;
  readonly keptBytes: number;
  readonly heldOut: Pick<Split, 'heldOut' | 'labels'>;
  readonly backend: Backend;
}

export async function sparseReport(input: SparseReportInput): Promise<SparseReport> {
  const { original, model, dense, sentFeatures, denseFeatures, keptBytes, heldOut } = input;
  return {
    sentFeatures,
    denseFeatures,
    keptBytes,
    dense: costOf(original.graph, dense),
    ...(heldOut.heldOut.length === 0 ? {} : { heldOut: await heldOutReport(input, model) }),
  };
}

/** Of a thinned division that nothing is known of but itself: what it sends, and what it would send unthinned. */
export function thinning(graph: Graph, division: Division): SparseReport {
  const { supports: _, ...dense } = division;
  const values = shapedValues(graph);
  const features = (by: Division) =>
    describeExchanges(values, lower(graph, by, oneShardEach(by.numShards))).reduce(
      (sum, exchange) => sum + (exchange.kind === 'channels' ? exchange.features : 0),
      0,
    );
  return { sentFeatures: features(division), denseFeatures: features(dense), dense: costOf(graph, dense) };
}

function costOf(graph: Graph, division: Division): SparseReport['dense'] {
  const { programs, rounds, exchangedBytes } = lower(graph, division, oneShardEach(division.numShards));
  return {
    macsPerShard: programs.map(({ macs }) => macs),
    weightBytesPerShard: programs.map(({ weights }) =>
      [...weights.values()].reduce((sum, { dataType, dims }) => sum + byteCount(dataType, dims), 0),
    ),
    rounds,
    exchangedBytes,
  };
}

async function heldOutReport(
  { original, division, openBatch, heldOut, backend }: SparseReportInput,
  model: Model,
): Promise<NonNullable<SparseReport['heldOut']>> {
  const answers = async (of: Model, by: Division, placement: Placement) => {
    const plan = { model: of, division: by, openBatch, weights: wholeWeights(of), warmUp: false };
    const room = await openLocalRoom({ planOf: () => plan, placement, backend });
    const outputs: Readonly<Record<string, Tensor>>[] = [];
    try {
      for (const batch of heldOut.heldOut) outputs.push((await room.run({ ...batch })).outputs);
    } finally {
      await room.close();
    }
    return outputs;
  };
  const expected = await answers(original, { numShards: 1, shardings: new Map() }, [[0]]);
  const got = await answers(model, division, oneShardEach(division.numShards));
  const comparator = new Comparator();
  for (const [i, outputs] of expected.entries()) comparator.add(outputs, got[i] ?? {});
  const { agreement, maxAbsError, relativeRms } = comparator.result();
  const accuracy = (outputs: readonly Readonly<Record<string, Tensor>>[]) =>
    heldOut.labels === undefined ? undefined : accuracyOf(outputs, heldOut.labels);
  const [ours, theirs] = [accuracy(got), accuracy(expected)];
  return {
    samples: heldOut.heldOut.reduce((sum: number, batch: Batch) => sum + batchSize(batch), 0),
    agreement,
    largestError: maxAbsError,
    relativeRms,
    ...(ours === undefined || theirs === undefined ? {} : { accuracy: ours, originalAccuracy: theirs }),
  };
}

/** Share of samples whose first output's largest score is the label's; undefined where it is no rows of scores. */
function accuracyOf(
  batches: readonly Readonly<Record<string, Tensor>>[],
  labels: readonly number[],
): number | undefined {
  let sample = 0;
  let correct = 0;
  for (const outputs of batches) {
    const [scores] = Object.values(outputs);
    if (scores?.dataType !== 'float32' || scores.dims.length !== 2) return undefined;
    const values = float32View(scores);
    const classes = scores.dims[1] ?? 1;
    for (let start = 0; start < values.length; start += classes, sample++) {
      const row = values.subarray(start, start + classes);
      if (row.indexOf(row.reduce((a, b) => Math.max(a, b))) === labels[sample]) correct++;
    }
  }
  return sample === 0 ? undefined : correct / sample;
}
