/** An ONNX file and the data files beside it as a Model. */
import type { Model } from '../graph/graph.ts';
import { loadModel } from '../graph/load.ts';
import { readBytes } from './files.ts';
import { siblingReader } from './siblingReader.ts';

/** Throws StarlingError MODEL_NOT_FOUND, or what `loadModel` throws. */
export async function readModelFile(path: string): Promise<Model> {
  return loadModel(await readBytes(path, 'MODEL_NOT_FOUND'), siblingReader(path));
}
