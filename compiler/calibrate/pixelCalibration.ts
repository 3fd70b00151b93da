/** Sample inputs for a model whose picture inputs have become 8-bit pixels: what its numbers were made of. */
import type { Model } from '../../graph/graph.ts';
import { float32View, type Tensor } from '../../graph/tensor.ts';
import type { PixelOptions } from '../../protocol/compileChoices.ts';
import type { Calibration } from './calibration.ts';

/** `calibration` holds what `input` makes of pixels; inputs that are no pixels stay. */
export function pixelCalibration(
  calibration: Calibration,
  { graph }: Model,
  input: NonNullable<PixelOptions['input']>,
): Calibration {
  const pictures = new Set(
    graph.inputs.filter(({ dataType }) => dataType === 'uint8').map(({ name }) => name),
  );
  return {
    ...calibration,
    async *batches() {
      for await (const batch of calibration.batches()) {
        const entries = Object.entries(batch).map(([name, tensor]) => [
          name,
          pictures.has(name) && tensor.dataType === 'float32' ? pixelsOf(tensor, input) : tensor,
        ]);
        yield Object.fromEntries(entries);
      }
    },
  };
}

function pixelsOf(
  tensor: Tensor,
  { scale, mean = [0], std = [1] }: NonNullable<PixelOptions['input']>,
): Tensor {
  const values = float32View(tensor);
  const [, channels = 1, ...plane] = tensor.dims;
  const size = plane.reduce((product, dim) => product * dim, 1);
  // Saturates and rounds as it is written.
  const data = new Uint8ClampedArray(values.length);
  for (let i = 0; i < values.length; i++) {
    const channel = Math.floor(i / size) % channels;
    const shift = mean[mean.length === 1 ? 0 : channel] ?? 0;
    const width = std[std.length === 1 ? 0 : channel] ?? 1;
    data[i] = ((values[i] as number) * width + shift) * scale;
  }
  return { dataType: 'uint8', dims: tensor.dims, data: new Uint8Array(data.buffer) };
}
