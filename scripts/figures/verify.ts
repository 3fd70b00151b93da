/** Shards against the model in one piece: bench/results/verify.json. */
import { type Headline, markdownTable, origins, type Row, readResult } from './results.ts';

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

/** Names are `model axis shards placement`, the model without spaces. */
function axisOf({ name }: VerifyFile['entries'][number]): string {
  return name.split(' ')[1] ?? '';
}

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

export function verifyHeadline(): Headline[] {
  const file = readResult<VerifyFile>('verify.json');
  if (file === undefined) return [];
  const divisions = file.entries.filter(({ kind }) => kind === 'division');
  const right = divisions.filter(({ passed }) => passed).length;
  const models = new Set(divisions.map(({ name }) => name.split(' ')[0])).size;
  const worst = Math.max(...divisions.map(({ relativeError = 0 }) => relativeError));
  return [
    {
      what: 'the shards answer what the model answers',
      figure: `${right} of ${divisions.length} divisions and placements of ${models} models, largest error ${worst.toExponential(1)} of the largest output`,
    },
  ];
}

export function verifySection(): string[] {
  const file = readResult<VerifyFile>('verify.json');
  if (file === undefined) return [];
  const divisions = file.entries.filter(({ kind }) => kind === 'division');
  const axes = [...grouped(divisions, axisOf).keys()];
  const rows = [...grouped(divisions, ({ name }) => name.split(' ')[0] ?? '')].map(
    ([model, entries]): Row => {
      const byAxis = grouped(entries, axisOf);
      return [
        model,
        ...axes.map((axis) => {
          const all = byAxis.get(axis) ?? [];
          const worst = Math.max(...all.map(({ relativeError = 0 }) => relativeError));
          return `${all.filter(({ passed }) => passed).length} of ${all.length}, ${worst.toExponential(1)}`;
        }),
      ];
    },
  );
  const controls = file.entries.filter(({ kind }) => kind !== 'division');
  const caught = controls.filter(({ passed }) => passed).length;
  return [
    `**The same answer.** Shards on devices against the model in one piece, for every number of shards and placement that \`npm run verify:all\` runs: how many are within the limit, and the largest error as a share of the largest output, at most ${file.tolerance} allowed. ${caught} of ${controls.length} deliberate faults (swapped features, dropped exchanges, wrong weights, shifted halos) were caught. ${origins(file.entries)}.`,
    '',
    markdownTable(['model', ...axes.map((axis) => (axis === 'auto' ? axis : `by ${axis}`))], rows),
    '',
  ];
}
