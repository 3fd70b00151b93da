/** The tables of the README's section "Measured", made from the files in bench/results and from nothing else. */
import { markdownTable, type Row, readResult } from './resultFiles.ts';
import { scalerSection } from './scalerFigures.ts';

export const startMark = '<!-- figures:start -->';
export const endMark = '<!-- figures:end -->';

interface VerifyFile {
  readonly tolerance: number;
  readonly entries: readonly {
    readonly name: string;
    readonly kind: string;
    readonly passed: boolean;
    readonly relativeError?: number;
    readonly commit: string;
    readonly date: string;
  }[];
}

/** `model axis shards placement`, the model without spaces. */
function groupOf(name: string): string {
  return name.split(' ').slice(0, 2).join(' ');
}

function verifySection(): string[] {
  const file = readResult<VerifyFile>('verify.json');
  if (file === undefined) return [];
  const divisions = file.entries.filter(({ kind }) => kind === 'division');
  const groups = new Map<string, VerifyFile['entries'][number][]>();
  for (const entry of divisions) {
    const group = groups.get(groupOf(entry.name)) ?? [];
    group.push(entry);
    groups.set(groupOf(entry.name), group);
  }
  const rows = [...groups].map(([group, entries]): Row => {
    const worst = Math.max(...entries.map(({ relativeError = 0 }) => relativeError));
    const passed = entries.filter((entry) => entry.passed).length;
    return [...group.split(' '), `${passed} of ${entries.length}`, worst.toExponential(1)];
  });
  const controls = file.entries.filter(({ kind }) => kind !== 'division');
  const caught = controls.filter(({ passed }) => passed).length;
  return [
    `**The same answer.** Shards on devices against the model in one piece: every combination of shards and placements that \`npm run verify:all\` runs; largest error as a share of the largest output, at most ${file.tolerance} allowed. ${caught} of ${controls.length} deliberate faults (swapped features, dropped exchanges, wrong weights) were caught. ${origins(file.entries)}.`,
    '',
    markdownTable(['model', 'divided by', 'within the limit', 'largest error'], rows),
    '',
  ];
}

/** Day and commits that results come from. */
function origins(results: readonly { readonly commit: string; readonly date: string }[]): string {
  const commits = [...new Set(results.map(({ commit }) => commit.slice(0, 7)))];
  const days = [...new Set(results.map(({ date }) => date.slice(0, 10)))];
  return `${days.join(', ')}, commit ${commits.join(', ')}`;
}

interface TaskResult {
  readonly name: string;
  readonly commit: string;
  readonly date: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly original: Readonly<Record<string, number>>;
}

function tasksSection(): string[] {
  const results = readResult<readonly TaskResult[]>('tasks.json');
  if (results === undefined) return [];
  const rows = results.flatMap(({ name, figures, original }) =>
    Object.keys(figures).map(
      (figure): Row => [name, figure, short(original[figure]), short(figures[figure])],
    ),
  );
  return [
    `**The same figures.** \`npm run eval:all\`, through the shards and by the original. ${origins(results)}.`,
    '',
    markdownTable(['model', 'figure', 'original', 'through the shards'], rows),
    '',
  ];
}

function short(value: number | undefined): string {
  return value === undefined ? '' : String(Number(value.toFixed(4)));
}

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
  readonly traffic: { readonly rounds: number; readonly exchangedBytes: number } | null;
}

function benchSection(): string[] {
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
      ['model', 'what', 'ms: median (best; 10th to 90th percentile)', 'x plain', 'rounds', 'MB exchanged'],
      rows,
    ),
    '',
  ];
}

/** The text between the marks. */
export function readmeFigures(): string {
  return [...verifySection(), ...tasksSection(), ...benchSection(), ...scalerSection()].join('\n').trim();
}

/** The README with its figures made anew. */
export function withFigures(readme: string): string {
  const start = readme.indexOf(startMark);
  const end = readme.indexOf(endMark);
  if (start < 0 || end < start) throw new Error('README.md has lost the marks of its figures.');
  return `${readme.slice(0, start + startMark.length)}\n${readmeFigures()}\n${readme.slice(end)}`;
}
