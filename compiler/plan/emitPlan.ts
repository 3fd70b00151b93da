/** Writes a plan: the graph without its weights, the weight files named by their hash, and plan.json. */

import type { Graph, Model } from '../../graph/graph.ts';
import type { Ranges } from '../../graph/ranges.ts';
import { saveModel } from '../../graph/save.ts';
import { StarlingError } from '../../protocol/errors.ts';
import {
  type PlanFile,
  planFormat,
  planVersion,
  type SparseReport,
  unlistedNames,
} from '../../protocol/plan.ts';
import { sha256Hex } from '../../protocol/sha256.ts';
import { isDense } from '../../runtime/lower/lower.ts';
import type { Division, RoomProgram, Sharding } from '../../runtime/lower/program.ts';
import { flattenRanges } from '../../runtime/plan.ts';
import { describePlan } from './report.ts';
import { scatteredZeros } from './scatteredZeros.ts';
import { isInline, layOutWeights } from './weightFiles.ts';

export interface EmitInput {
  readonly name: string;
  readonly source: PlanFile['source'];
  /** Normalised: every shape concrete. */
  readonly model: Model;
  readonly division: Division;
  /** Values without an owner because making them everywhere costs less than their exchange. */
  readonly heldWhole?: ReadonlySet<string>;
  /** Lowered with one shard on each device. */
  readonly onePerDevice: RoomProgram;
  readonly maxBatch: number;
  readonly sparse?: SparseReport;
  readonly classes?: readonly string[];
  readonly predictedMs?: Readonly<Record<string, number>>;
  readonly metadata: Readonly<Record<string, string>>;
}

export interface PlanFiles {
  readonly plan: PlanFile;
  /** File name -> content; plan.json among them. */
  readonly files: ReadonlyMap<string, Uint8Array>;
}

export function emitPlan(input: EmitInput): PlanFiles {
  const { model, division, onePerDevice, heldWhole = new Set() } = input;
  const { contents, tensors } = layOutWeights(model.graph, onePerDevice.programs, isDense(division));
  const { zeros, weights: all } = scatteredZeros(tensors, contents);
  const files = new Map<string, Uint8Array>();
  const graphBytes = saveModel({ ...model, graph: withoutWeights(model.graph) }).bytes;
  files.set('graph.onnx', graphBytes);
  const weights = contents.map((content, index) => {
    const sha256 = sha256Hex(content);
    const path = `weights-${sha256.slice(0, 16)}.bin`;
    files.set(path, content);
    return { path, bytes: content.byteLength, sha256, shard: index === 0 ? null : index - 1 };
  });
  const plan: PlanFile = {
    format: planFormat,
    version: planVersion,
    name: input.name,
    numShards: division.numShards,
    source: input.source,
    graph: { path: 'graph.onnx', bytes: graphBytes.byteLength, sha256: sha256Hex(graphBytes) },
    weights,
    tensors,
    inputs: model.graph.inputs.map(describeEnd),
    outputs: model.graph.outputs.map(describeEnd),
    maxBatch: input.maxBatch,
    ...flattenDivision(division),
    sendFirst: division.sendFirst === true,
    report: describePlan({ graph: model.graph, division, heldWhole }, onePerDevice),
    ...(input.sparse === undefined ? {} : { sparse: input.sparse }),
    ...(input.classes === undefined ? {} : { classes: [...input.classes] }),
    predictedMs: { ...input.predictedMs },
    metadata: { ...input.metadata, ...(zeros === 0 ? {} : { scatteredZeros: `${zeros} of ${all}` }) },
  };
  files.set('plan.json', new TextEncoder().encode(`${JSON.stringify(plan)}\n`));
  return { plan, files };
}

function describeEnd({ name, dataType, shape }: Graph['inputs'][number]): PlanFile['inputs'][number] {
  if (dataType === 'string') {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `"${name}" is a tensor of strings, which cannot travel between devices.`,
    );
  }
  return { name, dataType, shape: (shape ?? []).map((dim) => (typeof dim === 'number' ? dim : 1)) };
}

/** Weights become inputs, so that the graph file is a valid model without them. */
function withoutWeights(graph: Graph): Graph {
  const weights = [...graph.initializers].filter(([name, tensor]) => !isInline(name, tensor));
  return {
    ...graph,
    inputs: [
      ...graph.inputs,
      ...weights.map(([name, { dataType, dims }]) => ({ name, dataType, shape: dims })),
    ],
    initializers: new Map([...graph.initializers].filter(([name, tensor]) => isInline(name, tensor))),
  };
}

/** Many values are divided alike: each different partition is written once. */
function flattenDivision({
  shardings,
  supports = new Map(),
  wires = new Map(),
  partials = new Map(),
  statistics = new Map(),
}: Division): Pick<PlanFile, 'partitions' | 'shardings' | 'supports' | 'wires' | 'partials' | 'statistics'> {
  const partitions: number[][][] = [];
  const known = new Map<string, number>();
  const indexOf = (parts: readonly Ranges[]) => {
    const flat = parts.map(flattenRanges);
    const key = JSON.stringify(flat);
    const index = known.get(key) ?? partitions.push(flat) - 1;
    known.set(key, index);
    return index;
  };
  const byNode = (parts: ReadonlyMap<string, readonly Ranges[]>) =>
    Object.fromEntries(
      [...parts].filter(([node]) => !unlistedNames.has(node)).map(([node, list]) => [node, indexOf(list)]),
    );
  // A value without an owner is computed where it is needed, which is right for any name.
  const byName = (given: ReadonlyMap<string, Sharding>) =>
    Object.fromEntries(
      [...given]
        .filter(([name]) => !unlistedNames.has(name))
        .map(([name, { axis, parts }]) => [name, { axis, partition: indexOf(parts) }]),
    );
  return {
    shardings: byName(shardings),
    statistics: byName(statistics),
    supports: byNode(supports),
    wires: Object.fromEntries(wires),
    partials: byNode(partials),
    partitions,
  };
}
