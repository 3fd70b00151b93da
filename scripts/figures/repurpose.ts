/** The table of RePurpose's scale: predictions alone, from bench/results/repurpose.json. */
import { markdownTable, type Row, readResult } from './results.ts';

interface RepurposeFile {
  readonly layers: number;
  readonly rows: readonly {
    readonly profile: string;
    readonly width: number;
    readonly workers: number;
    readonly sparsity: number;
    readonly speedup: number;
  }[];
}

/** Every second width: the file holds all. */
const shown: readonly number[] = [1024, 4096, 16384, 32768];

export function repurposeSection(): string[] {
  const file = readResult<RepurposeFile>('repurpose.json');
  if (file === undefined || file.rows.length === 0) return [];
  const sparsities = [...new Set(file.rows.map(({ sparsity }) => sparsity))].sort((a, b) => a - b);
  const places = new Map(file.rows.map((row) => [`${row.profile} ${row.width} ${row.workers}`, row]));
  const rows = [...places.values()]
    .filter(({ width, workers }) => workers > 1 && shown.includes(width))
    .sort((a, b) => a.profile.localeCompare(b.profile) || a.width - b.width || a.workers - b.workers)
    .map(
      ({ profile, width, workers }): Row => [
        profile,
        width,
        workers,
        ...sparsities.map((sparsity) => {
          const found = file.rows.find(
            (row) =>
              row.profile === profile &&
              row.width === width &&
              row.workers === workers &&
              row.sparsity === sparsity,
          );
          return found === undefined ? '' : found.speedup.toFixed(2);
        }),
      ],
    );
  return [
    `**RePurpose's scale: predicted, nothing of it was run.** \`npm run bench:repurpose\`: fully connected networks of ${file.layers} layers, one sample, divided over workers; share of the features between workers that is not sent (and whose weights are removed) across, speed-up over one worker below. The cost model plays the lowered programs with the paper's two profiles, data centre (125 TOPS, 150 GB/s) and edge (0.5 TOPS, 100 MB/s): arithmetic and bandwidth alone.`,
    '',
    markdownTable(['profile', 'neurons', 'workers', ...sparsities.map((share) => `${100 * share} %`)], rows),
    '',
  ];
}
