/**
 * Measures how long batches take in WASM on one thread here, for the simulator: real models whose batch axis is open.
 * The best of several turns, in which the sizes follow one another, so that a busy moment hits all of them. Writes
 * bench/results/scaler-batch-curves.json.
 *
 *   npx tsx bench/scalerSim/measureBatchCurves.ts
 */

import { writeFileSync } from 'node:fs';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { seededRandom } from '../../graph/random.ts';
import { randomFloats } from '../../tests/support/random.ts';
import { hasShared, readSharedModel } from '../../tests/support/shared.ts';

const models = [
  { name: 'resnet20-cifar10', dims: [3, 32, 32] },
  { name: 'resnet56-cifar10', dims: [3, 32, 32] },
  { name: 'espcn-x3', dims: [1, 64, 64] },
] as const;
const batches = [1, 2, 4, 8, 16, 32] as const;
const turns = 15;

if (!hasShared) process.exit(1);
const curves = [];
for (const { name, dims } of models) {
  const backend = await createHeapBackend();
  const session = await backend.createSession(readSharedModel(`${name}.onnx`));
  const input = session.inputNames[0] ?? '';
  const random = seededRandom(1);
  const best = new Map<number, number>();
  for (let turn = 0; turn < turns; turn++) {
    for (const batch of batches) {
      const handle = backend.upload(randomFloats(random, [batch, ...dims]));
      const start = performance.now();
      for (const output of (await session.run(new Map([[input, handle]]))).values()) output.release();
      const ms = performance.now() - start;
      handle.release();
      // The first turn warms up.
      if (turn > 0) best.set(batch, Math.min(best.get(batch) ?? Number.POSITIVE_INFINITY, ms));
    }
  }
  await session.release();
  const batchMs = batches.map((batch) => Number((best.get(batch) ?? Number.NaN).toFixed(2)));
  curves.push({ model: name, dims, batches, batchMs });
  console.log(name, batchMs.join(' '), 'gain', ((8 * (batchMs[0] ?? 0)) / (batchMs[3] ?? 1)).toFixed(2));
}
writeFileSync(
  new URL('../results/scaler-batch-curves.json', import.meta.url),
  `${JSON.stringify({ backend: 'onnxruntime-web, WASM, one thread, Node', turns: turns - 1, curves }, null, 1)}\n`,
);
