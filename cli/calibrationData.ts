/**
 * Sample inputs for calibration: a folder of pictures, an array in a .npy file, or CIFAR-10's training pictures. What does
 * not fit the model is refused here, before anything long begins.
 */
import { stat } from 'node:fs/promises';
import { assertFinite, type Calibration } from '../compiler/calibrate/calibration.ts';
import { cifar10Input, loadCifar10 } from '../eval/cifar10.ts';
import { openPictureFolder, type Part, wholeFolder } from '../eval/pictureFolder.ts';
import { type PreparationName, preparationNames, preparations } from '../eval/preparations.ts';
import type { Dimension, Model } from '../graph/graph.ts';
import { float32Tensor, float32View, readIntegers } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import { readNpy } from '../protocol/npy.ts';
import { readBytes } from './files.ts';

const cifarSamples = 5000;
/** Elements of one batch, and samples at most. */
const batchElements = 2 ** 20;
const batchSamples = 100;
const leastBatches = 8;

export interface CalibrationOptions {
  /** How the pictures of a folder become inputs. */
  readonly prepare?: PreparationName | undefined;
  /** Of inputs that the model leaves open. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /** A .npy file with the class of each sample; CIFAR-10's are known. */
  readonly labels?: string | undefined;
}

/** What is read: samples of one shape, from the first again at every call. */
interface Samples {
  readonly count: number;
  readonly shape: readonly number[];
  readonly labels?: ArrayLike<number>;
  read(): AsyncIterable<Float32Array> | Iterable<Float32Array>;
}

/** `source`: `cifar10`, a file, a folder, or `FOLDER:1/2` for the first of two interleaved halves. Throws CALIBRATION_INVALID, USAGE. */
export async function calibrationData(
  source: string,
  model: Model,
  options: CalibrationOptions = {},
): Promise<Calibration> {
  const [input, ...others] = model.graph.inputs;
  if (input === undefined || others.length > 0) {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `Calibration takes models with one input, and this one has ${others.length + 1}.`,
    );
  }
  const wanted = (options.shapes?.[input.name] ?? input.shape ?? []).slice(1);
  const samples = await openSamples(source, wanted, options.prepare);
  const { count, shape } = samples;
  const fits =
    shape.length === wanted.length && wanted.every((dim, i) => typeof dim !== 'number' || dim === shape[i]);
  if (!fits) {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `Expected samples of shape [n, ${wanted.join(', ')}] for "${input.name}", got [${[count, ...shape].join(', ')}].`,
    );
  }
  if (count === 0) {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `${source} holds no sample; calibration needs at least one, and some hundreds to be of use.`,
    );
  }
  const labels = options.labels === undefined ? samples.labels : await labelsFile(options.labels, count);
  const size = shape.reduce((product, dim) => product * dim, 1);
  const most = Math.max(1, Math.min(batchSamples, Math.floor(batchElements / Math.max(1, size))));
  // Whole batches are held out for the report: of few samples, too.
  const perBatch = count > most ? most : Math.ceil(count / leastBatches);
  return {
    samples: count,
    ...(labels === undefined ? {} : { labels }),
    async *batches() {
      let held: Float32Array[] = [];
      const batch = () => ({ [input.name]: float32Tensor([held.length, ...shape], joined(held, size)) });
      let number = 0;
      for await (const sample of samples.read()) {
        assertFinite(sample, `Sample ${++number} of ${source}`);
        held.push(sample);
        if (held.length < perBatch) continue;
        yield batch();
        held = [];
      }
      if (held.length > 0) yield batch();
    },
  };
}

function joined(samples: readonly Float32Array[], size: number): Float32Array {
  const data = new Float32Array(samples.length * size);
  for (const [i, sample] of samples.entries()) data.set(sample, i * size);
  return data;
}

async function openSamples(
  source: string,
  shape: readonly Dimension[],
  prepare: PreparationName | undefined,
): Promise<Samples> {
  if (source === 'cifar10') return cifarPictures();
  const { folder, part } = parsePart(source);
  const found = await stat(folder).catch(() => undefined);
  return found?.isDirectory() === true ? folderPictures(folder, part, shape, prepare) : arrayFile(source);
}

/** Throws USAGE. */
function parsePart(source: string): { folder: string; part: Part } {
  const match = /^(.*):(\d+)\/(\d+)$/.exec(source);
  if (match === null) return { folder: source, part: wholeFolder };
  const [, folder = '', index, of] = match;
  const part = { index: Number(index) - 1, of: Number(of) };
  if (part.index >= 0 && part.index < part.of) return { folder, part };
  throw new StarlingError('USAGE', `Expected a part of a folder like FOLDER:1/2, got "${source}".`);
}

/** Throws CALIBRATION_INVALID, USAGE. */
async function folderPictures(
  path: string,
  part: Part,
  shape: readonly Dimension[],
  name: PreparationName | undefined,
): Promise<Samples> {
  const folder = await openPictureFolder(path, part);
  const [channels, height, width] = shape;
  if (shape.length !== 3 || channels !== 3 || typeof height !== 'number' || typeof width !== 'number') {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `Pictures of a folder fit an input of shape [n, 3, height, width], and this one is [n, ${shape.join(', ')}]; give its size with --shape, or samples in a .npy file.`,
    );
  }
  if (name === undefined) {
    throw new StarlingError(
      'USAGE',
      `How the pictures of ${path} become inputs must be said: --normalise ${preparationNames.join(', ')}.`,
    );
  }
  return {
    count: folder.count,
    shape: [3, height, width],
    async *read() {
      for await (const image of folder.pictures()) yield preparations[name](image, height, width);
    },
  };
}

async function cifarPictures(): Promise<Samples> {
  const pictures = await loadCifar10('train', cifarSamples);
  return {
    count: cifarSamples,
    labels: pictures.labels,
    shape: [3, 32, 32],
    *read() {
      for (let i = 0; i < cifarSamples; i++) yield cifar10Input(pictures, i, 1);
    },
  };
}

async function arrayFile(path: string): Promise<Samples> {
  const array = readNpy(await readBytes(path), path);
  if (array.dataType !== 'float32') {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `${path} is expected to hold float32 samples, got ${array.dataType}.`,
    );
  }
  const values = float32View(array);
  const [count = 0, ...shape] = array.dims;
  const size = shape.reduce((product, dim) => product * dim, 1);
  return {
    count,
    shape,
    *read() {
      for (let i = 0; i < count; i++) yield values.subarray(i * size, (i + 1) * size);
    },
  };
}

/** Throws CALIBRATION_INVALID where there is not one for each sample. */
async function labelsFile(path: string, count: number): Promise<ArrayLike<number>> {
  const array = readNpy(await readBytes(path), path);
  const labels = array.dataType === 'float32' ? float32View(array) : readIntegers(array);
  if (labels.length === count) return labels;
  throw new StarlingError(
    'CALIBRATION_INVALID',
    `${path} is expected to hold a label for each of the ${count} samples, got ${labels.length}.`,
  );
}
