/**
 * The models of the sparse bench: what each is calibrated on, and the task that gives its figure. No picture serves both.
 * Runs nothing.
 */
import type { Calibration } from '../../compiler/calibrate/calibration.ts';
import { sharedPath } from '../../eval/cacheDir.ts';
import { cifar10Input, loadCifar10 } from '../../eval/cifar10.ts';
import { normalisations } from '../../eval/normalisations.ts';
import { openPictureFolder, type Part, wholeFolder } from '../../eval/pictureFolder.ts';
import { type Prepare, preparations } from '../../eval/preparations.ts';
import type { RgbImage } from '../../eval/rgbImage.ts';
import { cifar10Classification, folderClassification } from '../../eval/tasks/classification.ts';
import { vocDetection } from '../../eval/tasks/detection.ts';
import { camvidSegmentation } from '../../eval/tasks/segmentation.ts';
import { set5SuperResolution } from '../../eval/tasks/superResolution.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import { type Run, runnable } from './score.ts';

export interface Subject {
  /** File in ../shared/models, without .onnx. */
  readonly model: string;
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /** As the README says it. */
  readonly calibratedOn: string;
  readonly measuredOn: string;
  /** The task's figure that is the model's quality, and whether it is a share or in dB. */
  readonly figure: string;
  readonly unit: '%' | 'dB';
  /** `input` is the name of the model's input. */
  calibration(input: string): Promise<Calibration>;
  /** `most`: pictures that give the figure, where there are more. */
  task(most: number): Promise<Run>;
}

const cifarTraining = 5000;
const cifarBatch = 125;

/** Even classes for calibration, odd ones for the figure. */
const [calibrationHalf, figureHalf]: readonly [Part, Part] = [
  { index: 0, of: 2 },
  { index: 1, of: 2 },
];

function data(folder: string): string {
  const path = sharedPath(`data/${folder}`);
  if (path === undefined) throw new Error(`../shared/data/${folder} is not on this machine.`);
  return path;
}

function cifar(model: string): Subject {
  return {
    model,
    calibratedOn: `${cifarTraining} training pictures of CIFAR-10`,
    measuredOn: 'test pictures',
    figure: 'top1',
    unit: '%',
    async calibration(input) {
      const images = await loadCifar10('train', cifarTraining);
      return {
        samples: cifarTraining,
        *batches() {
          for (let start = 0; start < cifarTraining; start += cifarBatch) {
            const values = cifar10Input(images, start, cifarBatch);
            yield { [input]: float32Tensor([cifarBatch, 3, 32, 32], values) };
          }
        },
      };
    },
    task: async (most) => runnable(await cifar10Classification(Math.min(10_000, most), cifarBatch)),
  };
}

/** Pictures of a folder one by one, or `crops` squares of each, evenly placed along its diagonal. */
async function pictures(
  input: string,
  folder: string,
  part: Part,
  prepare: Prepare,
  [height, width]: readonly [number, number],
  crops = 0,
): Promise<Calibration> {
  const opened = await openPictureFolder(data(folder), part);
  return {
    samples: opened.count * Math.max(1, crops),
    async *batches() {
      for await (const image of opened.pictures()) {
        for (const piece of crops === 0 ? [image] : cropsOf(image, height, width, crops))
          yield { [input]: float32Tensor([1, 3, height, width], prepare(piece, height, width)) };
      }
    },
  };
}

function cropsOf(image: RgbImage, height: number, width: number, count: number): RgbImage[] {
  return Array.from({ length: count }, (_, i) => {
    const share = (i + 0.5) / count;
    const left = Math.floor(share * (image.width - width));
    const top = Math.floor(share * (image.height - height));
    const cropped = new Uint8Array(width * height * 3);
    for (let y = 0; y < height; y++) {
      const start = ((top + y) * image.width + left) * 3;
      cropped.set(image.data.subarray(start, start + width * 3), y * width * 3);
    }
    return { width, height, data: cropped };
  });
}

/** `side` of square cuttings, so many of each picture. */
function esrgan(model: string, side: number, cuttings: number): Subject {
  return {
    model,
    shapes: { input: [1, 3, side, side] },
    calibratedOn: 'cuttings of camvid/unlabelled',
    measuredOn: 'set5',
    figure: 'psnrY',
    unit: 'dB',
    calibration: (input) =>
      pictures(input, 'camvid/unlabelled', wholeFolder, preparations.unit, [side, side], cuttings),
    task: async () => runnable(await set5SuperResolution(data('set5'))),
  };
}

export const subjects: Readonly<Record<string, Subject>> = {
  resnet20: cifar('resnet20-cifar10'),
  resnet56: cifar('resnet56-cifar10'),
  mobilenet: {
    model: 'mobilenet-v1-0.25-imagenet',
    calibratedOn: '500 pictures of imagenet-samples',
    measuredOn: 'the other 500',
    figure: 'top1',
    unit: '%',
    calibration: (input) =>
      pictures(input, 'imagenet-samples', calibrationHalf, preparations.symmetric, [224, 224]),
    task: async () =>
      runnable(
        await folderClassification(data('imagenet-samples'), normalisations.symmetric, undefined, figureHalf),
      ),
  },
  'yolox-nano': {
    model: 'yolox-nano-coco',
    calibratedOn: '500 pictures of imagenet-samples',
    measuredOn: 'voc100',
    figure: 'mAP50',
    unit: '%',
    calibration: (input) =>
      pictures(input, 'imagenet-samples', calibrationHalf, preparations.yolox, [416, 416]),
    task: async () => runnable(await vocDetection(data('voc100'), 416)),
  },
  espnet: {
    model: 'espnet-camvid',
    calibratedOn: 'camvid/unlabelled',
    measuredOn: 'camvid, 59 test pictures',
    figure: 'meanIoU',
    unit: '%',
    calibration: (input) =>
      pictures(input, 'camvid/unlabelled', wholeFolder, preparations.espnet, [360, 480]),
    task: async () => runnable(await camvidSegmentation(data('camvid'), normalisations.espnet)),
  },
  'esrgan-slim': esrgan('esrgan-slim-x4', 64, 2),
  // 27 times the multiplications: fewer and smaller cuttings still give more rows than are fitted to.
  'esrgan-thick': esrgan('esrgan-thick-x4', 48, 1),
};
