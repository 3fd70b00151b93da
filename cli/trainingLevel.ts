/** What one level of a training gives, as files: the model, its division, and the plan that pages run. */
import { join } from 'node:path';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { compileModel } from '../compiler/compile.ts';
import type { NormalisedGraph } from '../compiler/normalise/normaliseModel.ts';
import { finishTraining } from '../compiler/train/finishTraining.ts';
import type { TrainingData } from '../compiler/train/trainingData.ts';
import type { Graph } from '../graph/graph.ts';
import { saveModel } from '../graph/save.ts';
import type { Backend } from '../runtime/backend.ts';
import type { Division } from '../runtime/lower/program.ts';
import { calibrationOf } from './divideForTraining.ts';
import { writeDivision } from './divisionFile.ts';
import { writeBytes } from './files.ts';
import { withOpenSides } from './openSides.ts';

export interface Level {
  /** The model that training began with, as it was read and normalised. */
  readonly declared: Graph;
  readonly original: NormalisedGraph;
  readonly trained: Graph;
  readonly division: Division;
  readonly run: {
    readonly name: string;
    readonly numShards: number;
    readonly batch: number;
    readonly size: readonly [number, number];
    readonly wire: 'float32' | 'uint8';
  };
  readonly backend: Backend;
  /** Scales of uint8 are measured on them. */
  readonly samples: TrainingData;
}

/** Between shards on a device each. */
export interface Traffic {
  readonly rounds: number;
  readonly exchangedBytes: number;
}

const scaleSamples = 500;

/** Writes model.onnx, division.json and plan/. Throws what compiling throws. */
export async function writeLevel(folder: string, level: Level): Promise<Traffic> {
  const { original, declared, trained, division, run, backend, samples } = level;
  const closed = await finishTraining(original.model, trained, { backend, shapes: {} });
  // What was trained on small pictures enlarges others too.
  const finished = { ...closed, graph: withOpenSides(closed.graph, declared) };
  const model = saveModel(finished).bytes;
  await writeBytes(join(folder, 'model.onnx'), model);
  await writeDivision(join(folder, 'division.json'), division);
  const input = finished.graph.inputs[0]?.name ?? '';
  // The scales are those of one sample at a time, as the plan's graph takes them.
  const calibration = calibrationOf(samples, input, original.batchOpen ? run.batch : 1, scaleSamples);
  const { plan, files } = await compileModel(model, {
    name: run.name,
    numShards: run.numShards,
    axis: 'channels',
    division,
    shapes: { [input]: [1, 3, ...run.size] },
    ...(run.wire === 'float32' ? {} : { wire: { type: run.wire, calibration } }),
    backend: await createHeapBackend(),
  });
  for (const [name, content] of files) await writeBytes(join(folder, 'plan', name), content);
  return { rounds: plan.report.rounds, exchangedBytes: plan.report.exchangedBytes };
}
