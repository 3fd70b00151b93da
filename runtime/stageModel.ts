/** One stage of a program as an ONNX model whose weights lie in the device's blob. */
import type { Graph, Model, Node, ValueInfo } from '../graph/graph.ts';
import { type ExternalInitializer, saveModel } from '../graph/save.ts';
import { valuesRead } from '../graph/sort.ts';
import { byteCount, type DataType } from '../graph/tensor.ts';
import type { Program, Stage } from './lower/program.ts';
import type { WeightBlob } from './weights/blob.ts';

/** The name under which stage models know the blob. */
export const weightsPath = 'weights.bin';

/** Weights smaller than this are written into the stage's model. */
const inlineBytes = 256;

function valueInfo(program: Program, name: string, openBatch: boolean): ValueInfo {
  const type = program.types.get(name);
  if (type?.dims === undefined) return { name, dataType: type?.dataType ?? 'float32' };
  const shape = type.dims.map((dim, axis) => (axis === 0 && openBatch ? 'N' : dim));
  return { name, dataType: type.dataType, shape };
}

function readsOf(nodes: readonly Node[]): Set<string> {
  return new Set(nodes.flatMap(valuesRead));
}

/** A stage's graph, its weights left out. */
function stageGraph(program: Program, stage: Stage, openBatch: boolean): Graph {
  const reads = readsOf(stage.nodes);
  return {
    name: `device ${program.device} level ${stage.level}`,
    inputs: stage.inputs.map((name) => valueInfo(program, name, openBatch)),
    outputs: stage.outputs.map((name) => valueInfo(program, name, openBatch)),
    nodes: stage.nodes,
    initializers: new Map([...program.constants].filter(([name]) => reads.has(name))),
    values: new Map(),
  };
}

export function stageModel(
  model: Model,
  program: Program,
  stage: Stage,
  blob: WeightBlob,
  openBatch: boolean,
): Uint8Array {
  const reads = readsOf(stage.nodes);
  const graph = stageGraph(program, stage, openBatch);
  const initializers = new Map(graph.initializers);
  const externalInitializers = new Map<string, ExternalInitializer>();
  for (const [name, { dataType, dims }] of program.weights) {
    if (!reads.has(name)) continue;
    const offset = blob.offsets.get(name) ?? 0;
    const bytes = byteCount(dataType, dims);
    if (isInline(dataType, bytes)) {
      initializers.set(name, { dataType, dims, data: blob.data.subarray(offset, offset + bytes) });
    } else externalInitializers.set(name, { dataType, dims, path: weightsPath, offset, bytes });
  }
  return saveModel({ ...model, graph: { ...graph, initializers } }, { externalInitializers }).bytes;
}

/** onnxruntime reads shapes and limits while it loads, and only from the model itself. */
function isInline(dataType: DataType, bytes: number): boolean {
  return dataType === 'int64' || dataType === 'int32' || bytes < inlineBytes;
}

/** A device's whole program as one stage; its exchanges are extra inputs and outputs. */
export function wholeStage(program: Program): Stage {
  const inputs = [
    ...program.feeds.map(({ name }) => name),
    ...program.receives.map(({ targetName }) => targetName),
  ];
  const outputs = [
    ...program.sends.map(({ sourceName }) => sourceName),
    ...program.results.map(({ name }) => name),
  ];
  return {
    level: 0,
    sends: true,
    nodes: program.stages.flatMap(({ nodes }) => nodes),
    inputs: [...new Set(inputs)],
    outputs: [...new Set(outputs)],
  };
}

/** A device's whole program as one model: what `starling lower` writes. */
export function programGraph(program: Program, openBatch: boolean): Graph {
  return stageGraph(program, wholeStage(program), openBatch);
}
