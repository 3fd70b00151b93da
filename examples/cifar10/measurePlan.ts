/** How often a plan's shards, on a device each, name the right class of CIFAR-10's test pictures, given as 8-bit pixels. */
import { openPlanFolder, readWeights } from '../../cli/planFolder.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { loadCifar10 } from '../../eval/cifar10.ts';
import { topKCorrect } from '../../eval/metrics.ts';
import { float32View, type Tensor } from '../../graph/tensor.ts';
import type { PlanMeasurement } from '../../protocol/plan.ts';
import type { Backend } from '../../runtime/backend.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';

const batch = 100;
const pictureBytes = 3 * 32 * 32;

export interface MeasurePlanOptions {
  readonly backend: Backend;
  /** The first so many of the 10,000. */
  readonly limit: number;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Throws what opening a plan and what `loadCifar10` throw. */
export async function measurePlan(
  folder: string,
  { backend, limit, onProgress = () => undefined }: MeasurePlanOptions,
): Promise<PlanMeasurement> {
  const plan = await openPlanFolder(folder);
  const weights = await readWeights(folder, plan);
  const { model, division, file } = plan;
  const { images, labels, count } = await loadCifar10('test', limit);
  const [input, output] = [file.inputs[0]?.name ?? '', file.outputs[0]?.name ?? ''];
  const numClasses = file.outputs[0]?.shape.at(-1) ?? 1;
  const size = Math.min(batch, file.maxBatch);
  const room = await openLocalRoom({
    planOf: () => ({ model, division, openBatch: file.maxBatch > 1, weights, warmUp: false }),
    placement: oneShardEach(file.numShards),
    backend,
  });
  let [top1, top5] = [0, 0];
  try {
    for (let start = 0; start < count; start += size) {
      const end = Math.min(count, start + size);
      const data = images.slice(start * pictureBytes, end * pictureBytes);
      const pictures: Tensor = { dataType: 'uint8', dims: [end - start, 3, 32, 32], data };
      const scores = (await room.run({ [input]: pictures })).outputs[output];
      const values = scores === undefined ? new Float32Array() : float32View(scores);
      const truth = labels.subarray(start, end);
      top1 += topKCorrect(values, numClasses, truth, 1);
      top5 += topKCorrect(values, numClasses, truth, 5);
      onProgress(end, count);
    }
  } finally {
    await room.close();
  }
  return {
    data: "CIFAR-10's test pictures",
    samples: count,
    figures: { top1: top1 / count, top5: top5 / count },
  };
}
