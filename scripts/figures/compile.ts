/** What compiling costs, in Node and in the browser: bench/results/compile.json. */
import { markdownTable, origins, type Row, readResult } from './results.ts';

interface CompileFile {
  readonly date: string;
  readonly commit: string;
  readonly numShards: number;
  readonly axis: string;
  readonly results: readonly {
    readonly title: string;
    readonly place: 'node' | 'browser';
    readonly fileBytes: number;
    readonly medianMs: number;
    readonly mostPeakBytes: number | null;
    readonly fixedBytes: number | null;
    readonly runs: readonly { readonly ms: number }[];
  }[];
}

const places = { node: 'Node', browser: 'the Worker of a Chromium tab' } as const;

function megabytes(bytes: number | null): string {
  return bytes === null ? '' : (bytes / 1e6).toFixed(0);
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(1);
}

export function compileSection(): readonly string[] {
  const file = readResult<CompileFile>('compile.json');
  if (file === undefined) return [];
  const rows = file.results.map(
    ({ title, place, fileBytes, medianMs, mostPeakBytes, fixedBytes, runs }): Row => {
      const times = runs.map(({ ms }) => ms);
      const spread = `${seconds(Math.min(...times))} to ${seconds(Math.max(...times))}; n = ${runs.length}`;
      const ratio = mostPeakBytes === null ? '' : (mostPeakBytes / fileBytes).toFixed(1);
      return [
        title,
        places[place],
        `${seconds(medianMs)} (${spread})`,
        megabytes(fileBytes),
        megabytes(mostPeakBytes),
        megabytes(fixedBytes),
        ratio,
      ];
    },
  );
  return [
    `**Compiling.** For ${file.numShards} shards by ${file.axis}, one thread (\`npm run bench:compile\`). Memory is the most that the process takes beyond what it had before; "fixed" is what a model of a quarter megabyte takes, which is part of it. A model whose shapes do not follow from its graph is run, in a page with 0.1 GB more for the engine. ${origins([file])}.`,
    '',
    markdownTable(
      ['model', 'where', 's: median (range)', 'file, MB', 'memory, MB', 'of it fixed', 'memory / file'],
      rows,
    ),
    '',
  ];
}
