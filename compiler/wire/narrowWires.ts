/**
 * Sends what shards exchange in a narrower type (design: wire type): float16, or uint8 with scales from sample inputs.
 * Chooses the values and their types; which features travel is decided before.
 */
import type { Graph, Model } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { elementCount } from '../../graph/tensor.ts';
import type { ScaleChoice, WireChoice } from '../../protocol/compileChoices.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Division } from '../../runtime/lower/program.ts';
import type { Calibration } from '../calibrate/calibration.ts';
import { heldSamples } from '../calibrate/heldSamples.ts';
import { channelAxes } from '../divide/followAxes.ts';
import { rangeSamples } from '../select/sampleCounts.ts';
import { crossingReads } from './crossingReads.ts';
import { rewriteWires } from './rewriteWires.ts';
import { type ValueRange, valueRanges } from './valueRanges.ts';
import { float16Nodes, uint8Nodes, type WireNodes } from './wireNodes.ts';

export interface WireOptions {
  readonly wire: WireChoice;
  /** Default feature. */
  readonly scalePer?: ScaleChoice;
  /** Sample inputs; uint8 takes its scales from them. */
  readonly calibration?: Calibration;
  readonly backend: Backend;
  /** Whether the model takes batches of any size. */
  readonly openBatch: boolean;
}

export interface Wired {
  readonly model: Model;
  readonly division: Division;
}

/** Bytes of one element. */
export const wireBytes: Readonly<Record<WireChoice, number>> = { float32: 4, float16: 2, uint8: 1 };

/**
 * How far beyond what sample inputs showed a uint8 reaches. What saturates costs far more than a coarser step: esrgan-thick,
 * every exchange dense, scales from 12 cuttings of streets, loses on two pictures of Set5 0.16 and 0.50 dB with none,
 * 0.00 and 0.11 with 1.5, 0.00 and 0.05 with 2.
 */
const headroom = 2;

/** Smaller values save less than their frame's header costs. */
const leastElements = 256;

/** Throws CALIBRATION_INVALID where uint8 has no samples to take its scales from. */
export async function narrowWires(model: Model, division: Division, options: WireOptions): Promise<Wired> {
  if (options.wire === 'float32') return { model, division };
  const wires = await chooseNodes(model, narrowedValues(model.graph, division), options);
  const rewritten = rewriteWires({ graph: model.graph, division }, wires);
  return { model: { ...model, graph: rewritten.graph }, division: rewritten.division };
}

/** Values that cross and are worth narrowing. */
export function narrowedValues(graph: Graph, division: Division): string[] {
  const shaped = shapedValues(graph);
  const combined = new Set(
    graph.nodes.flatMap(({ name, outputs }) => (division.supports?.has(name) === true ? outputs : [])),
  );
  const crossing = new Set([...crossingReads(graph, division).values()].flatMap((names) => [...names]));
  return [...crossing].filter((value) => {
    const { dataType, shape = [] } = shaped.get(value) ?? {};
    const owners = division.shardings.get(value)?.parts.filter((part) => part.length > 0) ?? [];
    // What one shard owns alone, and does not combine for another, is its share of a sum: its error would be everybody's.
    const isShare = owners.length < 2 && !combined.has(value);
    return dataType === 'float32' && elementCount(shape) >= leastElements && !isShare;
  });
}

async function chooseNodes(
  model: Model,
  values: readonly string[],
  { wire, scalePer = 'feature', calibration, backend, openBatch }: WireOptions,
): Promise<ReadonlyMap<string, WireNodes>> {
  if (wire !== 'uint8') return new Map(values.map((value) => [value, float16Nodes()]));
  if (calibration === undefined) {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      'The wire type uint8 takes its scales from sample inputs, and there are none; give some with --calibrate, or take --wire float16.',
    );
  }
  const { axes } = channelAxes(model.graph, openBatch);
  const features = new Map(
    values.map((value) => [value, scalePer === 'feature' ? axes.get(value) : undefined]),
  );
  const samples = await heldSamples(calibration, rangeSamples(model.graph));
  const ranges = await valueRanges(model, features, samples, backend);
  return new Map(
    [...ranges].map(([value, range]) => [value, uint8Nodes(widened(range), features.get(value))] as const),
  );
}

function widened({ low, high }: ValueRange): ValueRange {
  return { low: low.map((value) => headroom * value), high: high.map((value) => headroom * value) };
}
