/** The table of wasm heaps, predicted and measured: bench/results/memory.json. */
import type { MemoryFile, MemoryResult } from '../../bench/memory.ts';
import { type Headline, markdownTable, percent, type Row, readResult } from './results.ts';

/** Plans that are compared: every model's, on one device and on several. */
interface Case {
  readonly model: string;
  readonly axis: string;
  readonly devices: readonly MemoryResult[];
}

export function memorySection(): string[] {
  const file = readResult<MemoryFile>('memory.json');
  return file === undefined ? [] : memoryLines(file);
}

export function memoryHeadline(): Headline[] {
  const file = readResult<MemoryFile>('memory.json');
  const example = file === undefined ? undefined : onlyTogether(casesOf(file.results));
  return example === undefined
    ? []
    : [{ what: 'a network that no device could hold alone', figure: example }];
}

export function memoryLines({ results, commit, date }: MemoryFile): string[] {
  const cases = casesOf(results);
  const errors = results.map(({ predicted, measuredBytes }) =>
    Math.abs(predicted.heapBytes / measuredBytes - 1),
  );
  const rows = cases.map(({ model, axis, devices }): Row => {
    const largest = largestOf(devices);
    return [
      model,
      axis,
      devices.length,
      mebibytes(largest.predicted.heapBytes),
      mebibytes(largest.measuredBytes),
      percent(largest.predicted.heapBytes / largest.measuredBytes - 1),
    ];
  });
  const example = onlyTogether(cases);
  return [
    `**Memory.** \`npm run bench:memory\`: the wasm heap of each device's Worker when it has run, beside what the loader predicts and holds against a limit before it fetches anything; the device that needs most of each room. Over ${results.length} devices the prediction is off by ${percent(Math.max(...errors))} at most${example === undefined ? '' : `; ${example}`}; ${date === undefined ? '' : `${date}, `}commit ${commit}.`,
    '',
    markdownTable(['model', 'divided by', 'devices', 'predicted MiB', 'measured MiB', 'difference'], rows),
    '',
  ];
}

/** Results come room after room, device after device: shards of one room are never held twice. */
function casesOf(results: readonly MemoryResult[]): readonly Case[] {
  const cases: { model: string; axis: string; devices: MemoryResult[] }[] = [];
  for (const result of results) {
    const last = cases.at(-1);
    const held = new Set(last?.devices.flatMap(({ shards }) => shards));
    const same = last?.model === result.model && last.axis === result.axis;
    if (last !== undefined && same && !result.shards.some((shard) => held.has(shard)))
      last.devices.push(result);
    else cases.push({ model: result.model, axis: result.axis, devices: [result] });
  }
  return cases;
}

function largestOf([first, ...rest]: readonly MemoryResult[]): MemoryResult {
  if (first === undefined) throw new RangeError('A room has at least one device.');
  return rest.reduce((a, b) => (b.measuredBytes > a.measuredBytes ? b : a), first);
}

/** The model for which several devices save most, and a limit that only they keep, by prediction and by measure. */
function onlyTogether(cases: readonly Case[]): string | undefined {
  const pairs = cases.flatMap((together) => {
    const alone = cases.find(
      ({ model, axis, devices }) =>
        model === together.model && axis === together.axis && devices.length === 1,
    );
    if (alone === undefined || together.devices.length === 1) return [];
    const [one, most] = [largestOf(alone.devices), largestOf(together.devices)];
    const fits = Math.max(most.predicted.heapBytes, most.measuredBytes);
    const breaks = Math.min(one.predicted.heapBytes, one.measuredBytes);
    const limit = Math.round((fits + breaks) / 2);
    return [{ together, limit, saved: breaks - fits }];
  });
  const [best] = pairs.toSorted((a, b) => b.saved - a.saved);
  if (best === undefined || best.saved <= 0) return undefined;
  const { model, axis, devices } = best.together;
  return `at a limit of ${mebibytes(best.limit)} MiB ${model} by ${axis} fits ${devices.length} Workers and not one`;
}

function mebibytes(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(1);
}
