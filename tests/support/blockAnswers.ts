/** What a block network answers, in one piece and in a room with a device for each shard; for tests of sparse divisions. */
import type { Calibration } from '../../compiler/calibrate/calibration.ts';
import { openPrefix } from '../../compiler/calibrate/prefix.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import type { Model } from '../../graph/graph.ts';
import { float32View } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';

export async function logitsOf(
  backend: Backend,
  model: Model,
  pictures: Calibration,
): Promise<readonly Float32Array[]> {
  const prefix = await openPrefix(model, ['logits'], backend);
  const result: Float32Array[] = [];
  for await (const batch of pictures.batches())
    result.push((await prefix.run(batch)).get('logits')?.data ?? new Float32Array(0));
  await prefix.release();
  return result;
}

/** Squared error, of the squares that were expected. */
export function missed(expected: readonly Float32Array[], got: readonly Float32Array[]): number {
  let error = 0;
  let squares = 0;
  for (const [i, batch] of expected.entries()) {
    for (const [k, value] of batch.entries()) {
      error += (value - (got[i]?.[k] ?? 0)) ** 2;
      squares += value ** 2;
    }
  }
  return error / squares;
}

export async function inRoom(
  backend: Backend,
  model: Model,
  division: Division,
  pictures: Calibration,
): Promise<Float32Array[]> {
  const room = await openLocalRoom({
    planOf: () => ({ model, division, openBatch: true, weights: wholeWeights(model) }),
    placement: oneShardEach(division.numShards),
    backend,
  });
  const result: Float32Array[] = [];
  for await (const batch of pictures.batches()) {
    const { logits } = (await room.run({ ...batch })).outputs;
    if (logits !== undefined) result.push(float32View(logits));
  }
  await room.close();
  return result;
}
