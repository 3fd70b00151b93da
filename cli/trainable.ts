/** What `starling train` begins with: an ONNX model, or a plan's folder with its weights and its division. */
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { copyBox } from '../graph/boxes.ts';
import type { Model } from '../graph/graph.ts';
import { byteCount, dataTypeBytes } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import { sha256Hex } from '../protocol/sha256.ts';
import type { Division } from '../runtime/lower/program.ts';
import { readBytes } from './files.ts';
import { readModelFile } from './modelFile.ts';
import { withOpenSides } from './openSides.ts';
import { openPlanFolder, readWeights } from './planFolder.ts';

export interface Trainable {
  /** Of the plans that training makes. */
  readonly name: string;
  readonly model: Model;
  /** Of a plan. */
  readonly division?: Division;
  /** SHA-256 of what was read, which a run that is resumed must find again. */
  readonly sha256: string;
}

/** Throws MODEL_NOT_FOUND, PLAN_NOT_FOUND, USAGE for a plan whose features travel rounded, or what reading them throws. */
export async function readTrainable(path: string): Promise<Trainable> {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  if (!isFolder) {
    return {
      name: basename(path, '.onnx'),
      model: await readModelFile(path),
      sha256: sha256Hex(await readBytes(path, 'MODEL_NOT_FOUND')),
    };
  }
  const plan = await openPlanFolder(path);
  if ((plan.division.wires?.size ?? 0) > 0) {
    throw new StarlingError(
      'USAGE',
      `Expected a plan whose features travel as float32, those of ${path} are rounded; compile it without --wire, and train it with --wire uint8 where that is wanted.`,
    );
  }
  const weights = await readWeights(path, plan);
  const { graph } = plan.model;
  const initializers = new Map(
    [...graph.initializers].map(([name, tensor]) => {
      const { dataType, dims } = tensor;
      if (dataType === 'string') return [name, tensor] as const;
      const data = new Uint8Array(byteCount(dataType, dims));
      const target = { selections: {}, data };
      for (const box of weights.boxes(name)) {
        copyBox(dims, dataTypeBytes[dataType], box, target);
      }
      return [name, { ...tensor, data }] as const;
    }),
  );
  return {
    name: plan.file.name,
    model: { ...plan.model, graph: { ...graph, initializers } },
    division: plan.division,
    sha256: sha256Hex(await readBytes(join(path, 'plan.json'))),
  };
}

/**
 * A plan is made for one size. Where `dense` is the model it was made from, which the names of their ends tell, the sides
 * that this leaves open are open again, unless the plan divides them.
 */
export function withSidesOf(dense: Model, trainable: Trainable): Trainable {
  const { model, division } = trainable;
  const ends = ({ graph }: Model) => [...graph.inputs, ...graph.outputs].map(({ name }) => name).join();
  const bySides = [...(division?.shardings.values() ?? [])].some(({ axis }) => axis > 1);
  if (division === undefined || bySides || ends(dense) !== ends(model)) return trainable;
  const graph = { ...withOpenSides(model.graph, dense.graph), values: new Map() };
  return { ...trainable, model: { ...model, graph } };
}
