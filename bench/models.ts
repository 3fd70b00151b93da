/** The networks that are measured, at the sizes that are measured. */
import { createHeapBackend } from '../backends/ortHeap.ts';
import { normalisations } from '../eval/normalisations.ts';
import type { PreparationName } from '../eval/preparations.ts';
import { loadModel } from '../graph/load.ts';
import { saveModel } from '../graph/save.ts';
import type { PixelOptions } from '../protocol/compileChoices.ts';
import { withLivelyWeights } from '../tests/support/livelyWeights.ts';
import { resnet50Model } from '../tests/support/resnet50.ts';
import { readSharedModel } from '../tests/support/shared.ts';

export interface BenchModel {
  readonly id: string;
  readonly title: string;
  readonly input: { readonly name: string; readonly dims: readonly number[] };
  /** All of them look at pictures: plans take 8-bit pixels, and give them where pictures or masks come out. */
  readonly pixels: PixelOptions & Required<Pick<PixelOptions, 'input'>>;
  /** Pictures from which a sparse exchange is made, and how they become inputs. None of those that give a figure. */
  readonly calibration: { readonly folder: string; readonly prepare: PreparationName };
  bytes(): Promise<Uint8Array>;
}

function shared(
  id: string,
  file: string,
  input: BenchModel['input'],
  pixels: BenchModel['pixels'],
  calibration: BenchModel['calibration'],
): BenchModel {
  const [height, width] = input.dims.slice(-2);
  const bytes = async () => readSharedModel(file);
  return { id, title: `${id} at ${height} x ${width}`, input, pixels, calibration, bytes };
}

/** A pixel of 255 is 1. */
const unit = { scale: 255 };
const imagenet = { ...unit, mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
const streets = 'data/camvid/unlabelled';
const things = 'data/imagenet-samples:1/2';
const upscaler = { input: unit, output: unit };
const { mean, std } = normalisations.espnet;

export const benchModels: readonly BenchModel[] = [
  {
    id: 'resnet50',
    title: 'resnet50 at 224 x 224 (random weights)',
    input: { name: 'gpu_0/data_0', dims: [1, 3, 224, 224] },
    pixels: { input: imagenet },
    calibration: { folder: things, prepare: 'imagenet' },
    bytes: async () => saveModel(await resnet50Model(createHeapBackend)).bytes,
  },
  shared('esrgan-slim', 'esrgan-slim-x4.onnx', { name: 'input', dims: [1, 3, 128, 128] }, upscaler, {
    folder: streets,
    prepare: 'unit',
  }),
  shared('esrgan-thick', 'esrgan-thick-x4.onnx', { name: 'input', dims: [1, 3, 64, 64] }, upscaler, {
    folder: streets,
    prepare: 'unit',
  }),
  shared(
    'yolox-nano',
    'yolox-nano-coco.onnx',
    { name: 'images', dims: [1, 3, 416, 416] },
    { input: { scale: 1 } },
    { folder: things, prepare: 'yolox' },
  ),
  shared(
    'espnet',
    'espnet-camvid.onnx',
    { name: 'input', dims: [1, 3, 360, 480] },
    { input: { scale: 1, mean, std }, output: { classes: true } },
    { folder: streets, prepare: 'espnet' },
  ),
  {
    ...shared(
      'deit-tiny',
      'deit-tiny-random-weights.onnx',
      { name: 'input', dims: [1, 3, 224, 224] },
      { input: imagenet },
      { folder: things, prepare: 'imagenet' },
    ),
    bytes: async () =>
      saveModel(withLivelyWeights(loadModel(readSharedModel('deit-tiny-random-weights.onnx')))).bytes,
  },
];
