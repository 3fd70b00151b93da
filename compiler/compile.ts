/**
 * From an ONNX model to a plan, in one visible list of steps: load, normalise, divide, lower, emit. Needs no Node:
 * a page compiles a dropped model with the same function. Measuring a plan is measure/'s.
 */

import type { Graph } from '../graph/graph.ts';
import { loadModel } from '../graph/load.ts';
import { sha256Hex } from '../protocol/sha256.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';
import { divideByChannels } from './divide/divideChannels.ts';
import type { DividedGraph } from './divide/dividedGraph.ts';
import { divideByRows } from './divide/divideRows.ts';
import { normaliseModel } from './normalise/normaliseModel.ts';
import { emitPlan, type PlanFiles } from './plan/emitPlan.ts';
import { receptiveRadius } from './plan/receptiveRadius.ts';

export type CompileStep = 'load' | 'normalise' | 'divide' | 'lower' | 'emit';
export type DivisionAxis = 'channels' | 'rows';

export interface CompileOptions {
  readonly name: string;
  readonly numShards: number;
  readonly axis: DivisionAxis;
  /** Shapes of inputs that the model leaves open. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /** Reads data files that the model names beside itself. */
  readonly external?: (path: string) => Uint8Array;
  /** Runs the model once, for shapes and constants. */
  readonly backend: Backend;
  readonly onStep?: (step: CompileStep) => void;
}

const dividers: { readonly [Axis in DivisionAxis]: (graph: Graph, numShards: number) => DividedGraph } = {
  channels: (graph, numShards) => ({ graph, division: divideByChannels(graph, numShards) }),
  rows: divideByRows,
};

/** Largest batch of a plan whose batch axis is open. */
const openMaxBatch = 128;

/** Throws StarlingError: MODEL_UNREADABLE, MODEL_UNSUPPORTED, SHAPE_OPEN, GRAPH_INVALID, SESSION_FAILED. */
export async function compileModel(bytes: Uint8Array, options: CompileOptions): Promise<PlanFiles> {
  const { backend, numShards, axis, shapes = {}, external, onStep = () => {} } = options;
  onStep('load');
  const original = loadModel(bytes, external);
  onStep('normalise');
  const { model: normalised, batchOpen } = await normaliseModel(original, { backend, shapes });
  onStep('divide');
  const { graph, division } = dividers[axis](normalised.graph, numShards);
  const model = { ...normalised, graph };
  onStep('lower');
  const onePerDevice = lower(
    graph,
    division,
    Array.from({ length: numShards }, (_, shard) => [shard]),
  );
  onStep('emit');
  const radius = receptiveRadius(normalised.graph);
  return emitPlan({
    name: options.name,
    source: { sha256: sha256Hex(bytes), bytes: bytes.byteLength, opset: original.opsets.get('') ?? 0 },
    model,
    division,
    onePerDevice,
    maxBatch: batchOpen ? openMaxBatch : 1,
    metadata: { axis, ...(radius === undefined ? {} : { receptiveRadius: String(radius) }) },
  });
}
