/** The networks that are measured, at the sizes that are measured. */
import { createHeapBackend } from '../backends/ortHeap.ts';
import { saveModel } from '../graph/save.ts';
import type { PixelOptions } from '../protocol/compileChoices.ts';
import { resnet50Model } from '../tests/support/resnet50.ts';
import { readSharedModel } from '../tests/support/shared.ts';

export interface BenchModel {
  readonly id: string;
  readonly title: string;
  readonly input: { readonly name: string; readonly dims: readonly number[] };
  /** Inputs are uniform between these. */
  readonly range: readonly [low: number, high: number];
  /** Its plans take and give 8-bit pictures; inputs then are whole pixels. */
  readonly pixels?: PixelOptions;
  bytes(): Promise<Uint8Array>;
}

function shared(
  id: string,
  file: string,
  input: BenchModel['input'],
  range: BenchModel['range'] = [0, 1],
): BenchModel {
  const [height, width] = input.dims.slice(-2);
  const bytes = async () => readSharedModel(file);
  return { id, title: `${id} at ${height} x ${width}`, input, range, bytes };
}

/** A pixel of 255 is 1, going in and coming out. */
const unitPixels: PixelOptions = { input: { scale: 255 }, output: { scale: 255 } };

export const benchModels: readonly BenchModel[] = [
  {
    id: 'resnet50',
    title: 'resnet50 at 224 x 224 (random weights)',
    input: { name: 'gpu_0/data_0', dims: [1, 3, 224, 224] },
    range: [-2, 2],
    bytes: async () => saveModel(await resnet50Model(createHeapBackend)).bytes,
  },
  {
    ...shared('esrgan-slim', 'esrgan-slim-x4.onnx', { name: 'input', dims: [1, 3, 128, 128] }),
    pixels: unitPixels,
  },
  {
    ...shared('esrgan-thick', 'esrgan-thick-x4.onnx', { name: 'input', dims: [1, 3, 64, 64] }),
    pixels: unitPixels,
  },
  shared('yolox-nano', 'yolox-nano-coco.onnx', { name: 'images', dims: [1, 3, 416, 416] }, [0, 255]),
  shared('espnet', 'espnet-camvid.onnx', { name: 'input', dims: [1, 3, 360, 480] }),
  shared('deit-tiny', 'deit-tiny-random-weights.onnx', { name: 'input', dims: [1, 3, 224, 224] }, [-2, 2]),
];
