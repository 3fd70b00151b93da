/** `starling compile --sweep`: one plan for each of several kept ratios, and their curve as a table, JSON and a picture. */
import { join } from 'node:path';
import type { Analysis } from '../compiler/analyse.ts';
import { type CompileOptions, compileModel } from '../compiler/compile.ts';
import { StarlingError } from '../protocol/errors.ts';
import { keptRatio, type PlanFile } from '../protocol/plan.ts';
import { type Series, svgCharts } from './charts/svgCharts.ts';
import { writeBytes } from './files.ts';
import { decides, sparseTable } from './sparseText.ts';

/** Throws StarlingError USAGE. */
export function parseSweep(text: string): readonly number[] {
  const ratios = text.split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  if (ratios.every((ratio) => ratio >= 0 && ratio <= 1)) return [...new Set(ratios)].sort((a, b) => a - b);
  throw new StarlingError(
    'USAGE',
    `Expected --sweep with ratios from 0 to 1 like 0,0.1,0.2,1, got "${text}".`,
  );
}

/** Writes OUT/keep-RATIO/ for each plan, OUT/sweep.json and OUT/sweep.svg; gives the table. What all ratios share is done once. */
export async function sweep(
  bytes: Uint8Array,
  options: CompileOptions,
  ratios: readonly number[],
  out: string,
): Promise<string> {
  const { sparse } = options;
  if (sparse?.budget.keep !== undefined) {
    throw new StarlingError('USAGE', '--sweep gives the kept ratios itself; leave --keep away, or --sweep.');
  }
  if (sparse === undefined) throw new StarlingError('USAGE', '--sweep needs sample inputs (--calibrate).');
  let analysis: Analysis | undefined;
  const plans: PlanFile[] = [];
  for (const keep of ratios) {
    const { plan, files } = await compileModel(bytes, {
      ...options,
      sparse: {
        ...sparse,
        budget: { ...sparse.budget, keep },
        ...(analysis === undefined ? {} : { analysis }),
        onAnalysis(made) {
          analysis = made;
        },
      },
    });
    for (const [name, content] of files) await writeBytes(join(out, `keep-${keep}`, name), content);
    plans.push(plan);
  }
  await writeBytes(join(out, 'sweep.json'), `${JSON.stringify(plans.map(pointOf), null, 2)}\n`);
  await writeBytes(join(out, 'sweep.svg'), sweepChart(plans));
  return sparseTable(plans);
}

function pointOf({ sparse, report }: PlanFile) {
  const { rounds, exchangedBytes, inputBytes, outputBytes, macsPerShard, weightBytesPerShard } = report;
  return {
    keptRatio: keptRatio(sparse),
    rounds,
    exchangedBytes,
    inputBytes,
    outputBytes,
    macsPerShard,
    weightBytesPerShard,
    ...sparse,
  };
}

function sweepChart(plans: readonly PlanFile[]): string {
  const series = (label: string, value: (plan: PlanFile) => number | undefined): Series => ({
    label,
    dots: true,
    points: plans.flatMap((plan) => {
      const y = value(plan);
      return y === undefined ? [] : [[keptRatio(plan.sparse), y] as const];
    }),
  });
  const largest = (list: readonly number[]) => Math.max(...list);
  const of = (value: number, whole: number) => (whole === 0 ? undefined : (100 * value) / whole);
  const share = (value: number | undefined) => (value === undefined ? undefined : 100 * value);
  const accuracy = series('accuracy', ({ sparse }) => share(sparse?.heldOut?.accuracy));
  const agreement = series('like the original', (plan) =>
    decides(plan) ? share(plan.sparse?.heldOut?.agreement) : undefined,
  );
  const answers = [agreement, accuracy].filter(({ points }) => points.length > 0);
  return svgCharts([
    ...(answers.length === 0
      ? []
      : [
          {
            title: `${plans[0]?.name ?? ''}: answers on held-out inputs, %`,
            xLabel: 'kept ratio',
            series: answers,
          },
        ]),
    {
      title: 'Relative error of the outputs (RMS), %',
      xLabel: 'kept ratio',
      series: [series('held-out inputs', ({ sparse }) => share(sparse?.heldOut?.relativeRms))],
    },
    {
      title: 'Cost against the dense division, %',
      xLabel: 'kept ratio',
      series: [
        series('bytes', ({ sparse, report }) => of(report.exchangedBytes, sparse?.dense.exchangedBytes ?? 0)),
        series('rounds', ({ sparse, report }) => of(report.rounds, sparse?.dense.rounds ?? 0)),
        series('MACs', ({ sparse, report }) =>
          of(largest(report.macsPerShard), largest(sparse?.dense.macsPerShard ?? [0])),
        ),
        series('weights', ({ sparse, report }) =>
          of(largest(report.weightBytesPerShard), largest(sparse?.dense.weightBytesPerShard ?? [0])),
        ),
      ],
    },
  ]);
}
