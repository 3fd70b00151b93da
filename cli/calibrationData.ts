/** Sample inputs for calibration: CIFAR-10's training pictures, or an array in a .npy file. */
import type { Calibration } from '../compiler/calibrate/calibration.ts';
import { cifar10Input, loadCifar10 } from '../eval/cifar10.ts';
import type { Model } from '../graph/graph.ts';
import { float32Tensor, float32View } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import { readNpy } from '../protocol/npy.ts';
import { readBytes } from './files.ts';

const cifarSamples = 5000;
const batchSamples = 100;

/** Throws CALIBRATION_INVALID where the samples do not fit the model's only input. */
export async function calibrationData(source: string, model: Model): Promise<Calibration> {
  const [input, ...others] = model.graph.inputs;
  if (input === undefined || others.length > 0) {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `Calibration takes models with one input, and this one has ${others.length + 1}.`,
    );
  }
  const { dims, values } = source === 'cifar10' ? await cifarPictures() : await arrayFile(source);
  const shape = (input.shape ?? []).slice(1);
  const fits =
    dims.length === shape.length + 1 &&
    shape.every((dim, i) => typeof dim !== 'number' || dim === dims[i + 1]);
  if (!fits) {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `Expected samples of shape [n, ${shape.join(', ')}] for "${input.name}", got [${dims.join(', ')}].`,
    );
  }
  const [samples = 0, ...sample] = dims;
  const size = sample.reduce((product, dim) => product * dim, 1);
  return {
    samples,
    *batches() {
      for (let start = 0; start < samples; start += batchSamples) {
        const count = Math.min(batchSamples, samples - start);
        const data = values.slice(start * size, (start + count) * size);
        yield { [input.name]: float32Tensor([count, ...sample], data) };
      }
    },
  };
}

interface Samples {
  readonly dims: readonly number[];
  readonly values: Float32Array;
}

async function cifarPictures(): Promise<Samples> {
  const pictures = await loadCifar10('train', cifarSamples);
  return { dims: [cifarSamples, 3, 32, 32], values: cifar10Input(pictures, 0, cifarSamples) };
}

async function arrayFile(path: string): Promise<Samples> {
  const array = readNpy(await readBytes(path), path);
  if (array.dataType !== 'float32') {
    throw new StarlingError(
      'CALIBRATION_INVALID',
      `${path} is expected to hold float32 samples, got ${array.dataType}.`,
    );
  }
  return { dims: array.dims, values: float32View(array) };
}
