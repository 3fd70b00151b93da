/**
 * How far the wasm heaps of a room's devices grow, measured, beside what is predicted: the product's devices with a
 * heap each, in one process. Sizes do not depend on how busy the machine is.
 *
 *   npm run bench:memory -- [--models resnet50,...] [--axes channels,rows] [--shards 2] [--json FILE|-]
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { createHeapBackend, heapBackend } from '../backends/ortHeap.ts';
import { createOrtModule, type OrtModule } from '../backends/ortModule.ts';
import { compileModel, type DivisionAxis } from '../compiler/compile.ts';
import { randomTensor, seededRandom } from '../graph/random.ts';
import { systemClock } from '../runtime/clock.ts';
import { Device } from '../runtime/device.ts';
import { allOnOne, oneShardEach } from '../runtime/lower/placements.ts';
import type { Placement } from '../runtime/lower/program.ts';
import { createMemoryNetwork } from '../runtime/memoryChannel.ts';
import { openPlan, type Plan } from '../runtime/plan.ts';
import { type PeakBytes, predictPeak } from '../runtime/predict/memory.ts';
import { fileWeights, type WeightSource } from '../runtime/weights/blob.ts';
import { describeCommit } from './machine.ts';
import { type BenchModel, benchModels } from './models.ts';

export interface MemoryResult {
  readonly model: string;
  readonly axis: DivisionAxis;
  readonly shards: readonly number[];
  readonly predicted: PeakBytes;
  readonly loadedBytes: number;
  readonly measuredBytes: number;
}

export interface MemoryFile {
  readonly commit: string;
  readonly changed: boolean;
  /** Day, where it was noted. */
  readonly date?: string;
  /** Room after room. */
  readonly results: readonly MemoryResult[];
}

function heapBytes(module: OrtModule): number {
  // Renews HEAPU8 where the memory has grown.
  module.getValue(0, 'i32');
  return module.HEAPU8.byteLength;
}

async function measure(
  model: BenchModel,
  axis: DivisionAxis,
  { plan, weights }: { readonly plan: Plan; readonly weights: WeightSource },
  placement: Placement,
): Promise<MemoryResult[]> {
  const modules = await Promise.all(placement.map(() => createOrtModule()));
  const ids = placement.map((_, i) => `device${i}`);
  const devices = modules.map(
    (module, i) => new Device({ id: ids[i] ?? '', backend: heapBackend(module), clock: systemClock }),
  );
  await connectAll(devices, ids);
  const devicePlan = {
    model: plan.model,
    division: plan.division,
    openBatch: plan.file.maxBatch > 1,
    weights,
  };
  const message = { epoch: 1, devices: ids, shards: placement, host: ids[0] ?? '' };
  const rooms = [];
  for (const device of devices) rooms.push(await device.load(devicePlan, message));
  const loaded = modules.map(heapBytes);
  const input = randomTensor('float32', model.input.dims, seededRandom(7), [0, 1]);
  for (let run = 1; run <= 2; run++) await devices[0]?.run(run, { [model.input.name]: input });
  const results = (rooms[0]?.programs ?? []).map((program, i): MemoryResult => {
    const module = modules[i];
    return {
      model: model.id,
      axis,
      shards: program.shards,
      predicted: predictPeak(program),
      loadedBytes: loaded[i] ?? 0,
      measuredBytes: module === undefined ? 0 : heapBytes(module),
    };
  });
  for (const device of devices) await device.close();
  return results;
}

async function connectAll(devices: readonly Device[], ids: readonly string[]): Promise<void> {
  const network = createMemoryNetwork({});
  const connected: Promise<void>[] = [];
  for (const [i, a] of devices.entries()) {
    for (const [j, b] of devices.entries()) {
      if (j <= i) continue;
      const [left, right] = network.pair();
      connected.push(a.connect(ids[j] ?? '', left), b.connect(ids[i] ?? '', right));
    }
  }
  await Promise.all(connected);
}

function line({ model, axis, shards, predicted, loadedBytes, measuredBytes }: MemoryResult): string {
  const mib = (bytes: number) => (bytes / 2 ** 20).toFixed(1).padStart(7);
  const error = (100 * (predicted.heapBytes / measuredBytes - 1)).toFixed(1);
  return `${model.padEnd(13)} ${axis.padEnd(8)} shards ${shards.join(',').padEnd(4)} predicted ${mib(predicted.heapBytes)} (weights ${mib(predicted.weightBytes)}, activations ${mib(predicted.activationBytes)})  loaded ${mib(loadedBytes)}  measured ${mib(measuredBytes)} MiB  ${error} %`;
}

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'resnet50,esrgan-slim,esrgan-thick,yolox-nano,deit-tiny' },
    axes: { type: 'string', default: 'channels,rows' },
    shards: { type: 'string', default: '2' },
    json: { type: 'string' },
  },
});
const numShards = Number(values.shards);
const results: MemoryResult[] = [];
const backend = await createHeapBackend();
for (const id of values.models.split(',')) {
  const model = benchModels.find((one) => one.id === id);
  if (model === undefined) throw new Error(`Expected --models of ${benchModels.map((one) => one.id)}.`);
  const bytes = await model.bytes();
  for (const axis of values.axes.split(',') as DivisionAxis[]) {
    const shapes = { [model.input.name]: model.input.dims };
    const { files } = await compileModel(bytes, { name: id, numShards, axis, shapes, backend });
    const plan = await openPlan(async (path) => files.get(path) ?? new Uint8Array());
    const weights = fileWeights(
      plan,
      plan.file.weights.map(({ path }) => files.get(path) ?? null),
    );
    for (const placement of [allOnOne(numShards), oneShardEach(numShards)]) {
      const measured = await measure(model, axis, { plan, weights }, placement);
      for (const one of measured) console.log(line(one));
      results.push(...measured);
    }
  }
}
if (values.json !== undefined) {
  const file: MemoryFile = { ...describeCommit(), date: new Date().toISOString().slice(0, 10), results };
  const text = `${JSON.stringify(file)}\n`;
  if (values.json === '-') console.log(text);
  else {
    mkdirSync(dirname(values.json), { recursive: true });
    writeFileSync(values.json, text);
  }
}
process.exit(0);
