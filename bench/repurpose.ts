/**
 * `npm run bench:repurpose`: PREDICTED times of fully connected networks of RePurpose's scale (Abdi et al., arXiv 2008.08289),
 * by lowering the real divisions and playing them on the cost model's virtual clock. Nothing is run. As in the paper only
 * arithmetic and bandwidth count: products at a worker's peak, a worker's bandwidth shared by all it talks to, no time for
 * messages, memory or kernels. One sample, float32.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { formatTable } from '../cli/table.ts';
import { byteCount } from '../graph/tensor.ts';
import { lower } from '../runtime/lower/lower.ts';
import { oneShardEach } from '../runtime/lower/placements.ts';
import type { DeviceCost } from '../runtime/predict/costModel.ts';
import { simulate } from '../runtime/predict/simulate.ts';
import { fullyConnected, thinnedWorkers } from './repurpose/fullyConnected.ts';

const layers = 6;

/** Operations per second (two are one multiply-accumulate) and bytes per second of one worker. */
const profiles = {
  'data centre': { operations: 125e12, bytes: 150e9 },
  edge: { operations: 0.5e12, bytes: 100e6 },
} as const;

const { values } = parseArgs({
  options: {
    widths: { type: 'string', default: '1024,2048,4096,8192,16384,32768' },
    workers: { type: 'string', default: '1,2,4,8,16,32' },
    sparsities: { type: 'string', default: '0,0.5,0.75,0.9,0.99' },
    json: { type: 'string', default: 'bench/results/repurpose.json' },
  },
});
const numbers = (text: string) => text.split(',').map(Number);

interface Row {
  readonly profile: string;
  readonly width: number;
  readonly workers: number;
  /** Share of the features between workers that are not sent, and whose weights are removed. */
  readonly sparsity: number;
  readonly predictedMs: number;
  /** One worker's predicted time over this one. */
  readonly speedup: number;
  readonly exchangedBytes: number;
  readonly macsPerWorker: number;
  readonly weightBytesPerWorker: number;
}

function instant({ operations }: { readonly operations: number }): DeviceCost {
  const never = Number.POSITIVE_INFINITY;
  return {
    macsPerMs: operations / 2 / 1000,
    elementsPerMs: never,
    nodeMs: 0,
    stageMs: 0,
    handledBytesPerMs: never,
  };
}

const rows: Row[] = [];

function write(): void {
  mkdirSync(dirname(values.json), { recursive: true });
  const compact = (_: string, value: unknown) =>
    typeof value === 'number' ? Number(value.toPrecision(6)) : value;
  const file = `{"prediction": true, "layers": ${layers}, "rows": [\n${rows.map((row) => JSON.stringify(row, compact)).join(',\n')}\n]}\n`;
  writeFileSync(values.json, file);
}

for (const width of numbers(values.widths)) {
  const graph = fullyConnected(width, layers);
  const single = new Map<string, number>();
  for (const workers of numbers(values.workers)) {
    for (const sparsity of workers === 1 ? [0] : numbers(values.sparsities)) {
      const division = thinnedWorkers(graph, workers, 1 - sparsity);
      const room = lower(graph, division, oneShardEach(workers));
      for (const [profile, speed] of Object.entries(profiles)) {
        const { totalMs } = simulate(room, {
          devices: Array.from({ length: workers }, () => instant(speed)),
          link: { roundTripMs: 0, messageMs: 0, bytesPerMs: speed.bytes / 1000 / Math.max(1, workers - 1) },
          host: 0,
        });
        if (workers === 1) single.set(profile, totalMs);
        rows.push({
          profile,
          width,
          workers,
          sparsity,
          predictedMs: totalMs,
          speedup: (single.get(profile) ?? Number.NaN) / totalMs,
          exchangedBytes: room.exchangedBytes,
          macsPerWorker: Math.max(...room.programs.map(({ macs }) => macs)),
          weightBytesPerWorker: Math.max(
            ...room.programs.map(({ weights }) =>
              [...weights.values()].reduce((sum, { dataType, dims }) => sum + byteCount(dataType, dims), 0),
            ),
          ),
        });
      }
    }
    write();
    process.stderr.write(`${width} wide, ${workers} workers\n`);
  }
}
process.stdout.write(
  `Predicted, not measured.\n${formatTable([
    ['profile', 'width', 'workers', 'sparsity', 'ms', 'speed-up', 'bytes'],
    ...rows.map(({ profile, width, workers, sparsity, predictedMs, speedup, exchangedBytes }) => [
      profile,
      String(width),
      String(workers),
      String(sparsity),
      predictedMs.toPrecision(4),
      speedup.toFixed(2),
      String(exchangedBytes),
    ]),
  ])}\n`,
);
