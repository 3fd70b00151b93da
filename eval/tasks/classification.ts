/** Top-1 and top-5 accuracy: on CIFAR-10's test pictures in batches, or on a folder of ImageNet's. */
import { cifar10Input, loadCifar10 } from '../cifar10.ts';
import { countImagenetSamples, imagenetSamples } from '../imagenet.ts';
import { argmaxRows, topKCorrect } from '../metrics.ts';
import { type Part, wholeFolder } from '../pictureFolder.ts';
import { type Normalisation, planesOf } from '../pixels.ts';
import { firstOutput, type Item, type Score, type Task } from '../task.ts';

type Labels = ArrayLike<number>;

const imageValues = 3 * 32 * 32;

/** `limit`: the first so many of the 10,000; batches of at most `batchSize`. Throws what `loadCifar10` throws. */
export async function cifar10Classification(limit = 10_000, batchSize = 1): Promise<Task<Labels>> {
  const data = await loadCifar10('test', Math.min(limit, 10_000));
  return {
    count: data.count,
    createScore: createAccuracy,
    *items() {
      for (let start = 0; start < data.count; start += batchSize) {
        const count = Math.min(batchSize, data.count - start);
        const input = cifar10Input(data, start, count).subarray(0, count * imageValues);
        const truth = data.labels.subarray(start, start + count);
        yield { input, dims: [count, 3, 32, 32], truth, count };
      }
    },
  };
}

/** `folder` holds pictures of the model's size named by their class; `limit` takes every n-th, so that classes stay spread. */
export async function folderClassification(
  folder: string,
  normalisation: Normalisation,
  limit?: number,
  part: Part = wholeFolder,
): Promise<Task<Labels>> {
  const all = await countImagenetSamples(folder, part);
  const step = limit === undefined ? 1 : Math.max(1, Math.ceil(all / limit));
  return {
    count: Math.ceil(all / step),
    createScore: createAccuracy,
    async *items(): AsyncGenerator<Item<Labels>> {
      for await (const { label, image } of imagenetSamples(folder, step, part)) {
        const dims = [1, 3, image.height, image.width];
        yield { input: planesOf(image, normalisation), dims, truth: [label], count: 1 };
      }
    },
  };
}

function createAccuracy(): Score<Labels> {
  let [top1, top5, count] = [0, 0, 0];
  return {
    add(labels, outputs) {
      const { data, dims } = firstOutput(outputs);
      const classes = dims.at(-1) ?? 1;
      top1 += topKCorrect(data, classes, labels, 1);
      top5 += topKCorrect(data, classes, labels, 5);
      count += labels.length;
      return argmaxRows(data, classes);
    },
    figures: () => ({ top1: top1 / count, top5: top5 / count }),
  };
}
