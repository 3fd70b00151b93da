/** Times in tabs of a browser: bench/results/bench.json. */
import { markdownTable, type Row, readResult } from './results.ts';

interface BenchFile {
  readonly date: string;
  readonly commit: string;
  readonly controls: {
    readonly twoTabs: { readonly before: Control; readonly after: Control; readonly quiet: boolean };
  };
  readonly models: readonly { readonly title: string; readonly results: readonly BenchResult[] }[];
}

interface Control {
  readonly ratio: number;
}

interface BenchResult {
  readonly title: string;
  readonly medianMs: number;
  readonly bestMs: number;
  readonly p10Ms: number;
  readonly p90Ms: number;
  readonly runs: number;
  readonly toPlain: number | null;
  readonly predicted: { readonly ms: number } | null;
  readonly traffic: { readonly rounds: number; readonly exchangedBytes: number } | null;
}

export function benchSection(): string[] {
  const file = readResult<BenchFile>('bench.json');
  if (file === undefined) return [];
  const { before, after, quiet } = file.controls.twoTabs;
  const rows = file.models.flatMap(({ title, results }) =>
    results.map(
      (one): Row => [
        title,
        one.title,
        `${one.medianMs.toFixed(1)} (${one.bestMs.toFixed(1)}; ${one.p10Ms.toFixed(1)} to ${one.p90Ms.toFixed(1)}; n = ${one.runs})`,
        one.toPlain === null ? '' : one.toPlain.toFixed(2),
        one.predicted == null ? '' : one.predicted.ms.toFixed(0),
        one.traffic?.rounds ?? '',
        one.traffic === null ? '' : (one.traffic.exchangedBytes / 1e6).toFixed(2),
      ],
    ),
  );
  const verdict = quiet ? 'quiet enough for ratios' : 'too busy for ratios, which are therefore left out';
  return [
    `**Time.** Chromium tabs on one machine of two cores, one thread a tab (\`npm run bench\`), ${file.date.slice(0, 10)}, commit ${file.commit.slice(0, 7)}. Control: two plain tabs at once do ${before.ratio.toFixed(2)} times (after: ${after.ratio.toFixed(2)}) the runs of one; the machine was ${verdict}.`,
    '',
    markdownTable(
      [
        'model',
        'what',
        'ms: median (best; 10th to 90th percentile)',
        'x plain',
        'predicted',
        'rounds',
        'MB exchanged',
      ],
      rows,
    ),
    '',
  ];
}
