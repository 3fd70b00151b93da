/** `--data`: CIFAR-10, or a folder of pictures, as samples to train on, to choose the best network by, and to test on. */
import { pictureData } from '../compiler/train/pictures.ts';
import { partOf, type TrainingData } from '../compiler/train/trainingData.ts';
import { type LabelledImages, loadCifar10 } from '../eval/cifar10.ts';
import { StarlingError } from '../protocol/errors.ts';
import { type PictureOptions, trainingPictures } from './trainingPictures.ts';

export interface TrainingSource {
  readonly train: TrainingData;
  /** Not trained on: chooses the best network. */
  readonly held: TrainingData;
  /** Not looked at before the end; only where the data set has such a part. */
  readonly test?: TrainingData;
}

/** Pictures of CIFAR-10's training part that are held out. */
const cifarHeld = 2000;
/** One picture of so many of a folder is held out. */
const folderHeld = 10;

/** The same without labels, for what is learned from a teacher alone. */
export function withoutLabels({ train, held, test }: TrainingSource): TrainingSource {
  const bare = ({ count, batch }: TrainingData): TrainingData => ({ count, batch });
  return { train: bare(train), held: bare(held), ...(test === undefined ? {} : { test: bare(test) }) };
}

/** Throws INPUT_INVALID where the pictures do not fit the model. */
export async function openTrainingSource(data: string, options: PictureOptions): Promise<TrainingSource> {
  if (data !== 'cifar10') return splitFolder(await trainingPictures(data, options));
  if (options.height !== 32 || options.width !== 32) {
    throw new StarlingError(
      'INPUT_INVALID',
      `CIFAR-10's pictures are 32 x 32, and the model takes ${options.height} x ${options.width}; give a --data FOLDER.`,
    );
  }
  const train = cifarData(await loadCifar10('train'));
  const seen = train.count - cifarHeld;
  return {
    train: partOf(train, 0, seen),
    held: partOf(train, seen, cifarHeld),
    test: cifarData(await loadCifar10('test')),
  };
}

function cifarData(data: LabelledImages): TrainingData {
  return pictureData({ ...data, size: 32, mean: [0.485, 0.456, 0.406], deviation: [0.229, 0.224, 0.225] });
}

/** Spread over the folder: neighbours are often alike (frames of one film, one class). */
function splitFolder(all: TrainingData): TrainingSource {
  const indices = Array.from({ length: all.count }, (_, i) => i);
  if (all.count < folderHeld) return { train: all, held: all };
  const middle = folderHeld >> 1;
  return {
    train: chosen(
      all,
      indices.filter((i) => i % folderHeld !== middle),
    ),
    held: chosen(
      all,
      indices.filter((i) => i % folderHeld === middle),
    ),
  };
}

function chosen(data: TrainingData, indices: readonly number[]): TrainingData {
  const { labels } = data;
  return {
    count: indices.length,
    ...(labels === undefined ? {} : { labels: indices.map((index) => labels[index] ?? 0) }),
    batch: (list, random) =>
      data.batch(
        list.map((i) => indices[i] ?? 0),
        random,
      ),
  };
}
