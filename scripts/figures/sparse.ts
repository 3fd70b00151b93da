/** The table of sparse exchanges after training, and the picture of their curves: bench/results/sparse.json. */
import type { Row as Point } from '../../bench/sparse/resultFile.ts';
import { type Series, svgCharts } from '../../cli/charts/svgCharts.ts';
import { type Headline, markdownTable, origins, quality, type Row, readResult } from './results.ts';

const namedKeep = 0.2;

export function sparseSection(): string[] {
  const points = readResult<readonly Point[]>('sparse.json') ?? [];
  const [first] = points;
  if (first === undefined) return [];
  const rows = points
    .filter(({ selection }) => selection === 'budget')
    .toSorted((a, b) => place(points, a) - place(points, b) || a.shards - b.shards || a.keep - b.keep)
    .map((point): Row => {
      const { model, shards, keep, unit, cost, denseCost, cpuSeconds } = point;
      const uniform = points.find((other) => other.selection === 'uniform' && samePlace(point, other));
      return [
        model,
        shards,
        keep,
        quality(point.quality, unit),
        uniform === undefined ? '' : quality(uniform.quality, unit),
        quality(point.denseQuality, unit),
        keep === 0 || keep === 1 ? '' : sentAs(point),
        `${kilobytes(cost.bytes)} of ${kilobytes(denseCost.bytes)}`,
        `${cost.rounds} of ${denseCost.rounds}`,
        ratio(cost.macsPerShard, denseCost.macsPerShard),
        ratio(cost.weightBytesPerShard, denseCost.weightBytesPerShard),
        cpuSeconds,
      ];
    });
  const measured = [...new Map(points.map((point) => [point.model, point])).values()].map(
    ({ model, figure, measuredOn, pictures, calibratedOn, rows }) =>
      `${model}: ${figure} on ${measuredOn} (n = ${pictures}), calibrated on ${calibratedOn}, ${rows} rows of least squares`,
  );
  return [
    `**Sparse exchanges after training.** \`npm run bench:sparse\`: divided by channels, weights adjusted by least squares on unlabelled inputs, never on pictures that give the figure; one budget over all exchanges, spent on features or on combinations of them, beside features at the same ratio in every exchange (rows of features were measured before combinations could be sent); kept is the share of a dense exchange's bytes of features. MACs and weights are the largest shard's against dense channels. ${measured.join('; ')}. ${origins(points)}.`,
    '',
    markdownTable(
      [
        'model',
        'shards',
        'kept',
        'one budget',
        'uniform',
        'undivided',
        'what is sent',
        'kB sent',
        'rounds',
        'MACs',
        'weights',
        'processor s',
      ],
      rows,
    ),
    '',
    '![Quality against kept ratio](docs/figures/sparse.svg)',
    '',
  ];
}

/** In the order in which models come first. */
function place(points: readonly Point[], { model }: Point): number {
  return points.findIndex((point) => point.model === model);
}

function sentAs({ chosenBy }: Point): string {
  return chosenBy?.endsWith('combinations') === true ? 'combinations' : 'features';
}

/** Two shards at the kept ratio that the project is measured by. */
export function sparseHeadline(): Headline[] {
  const points = readResult<readonly Point[]>('sparse.json') ?? [];
  const named = points
    .filter(({ selection, shards, keep }) => selection === 'budget' && shards === 2 && keep === namedKeep)
    .map(
      ({ model, quality: reached, denseQuality, unit }) =>
        `${model} ${quality(reached, unit)} of ${quality(denseQuality, unit)}`,
    );
  return named.length === 0
    ? []
    : [{ what: `kept ${namedKeep}, two shards, after training, without labels`, figure: named.join('; ') }];
}

/** One chart for each model: a curve for each number of shards, chosen by one budget and uniformly. */
export function sparseChart(): string | undefined {
  const points = readResult<readonly Point[]>('sparse.json');
  if (points === undefined || points.length === 0) return undefined;
  const models = [...new Set(points.map(({ model }) => model))];
  return svgCharts(
    models.map((model) => {
      const own = points.filter((point) => point.model === model);
      const [first] = own;
      return {
        title: `${model}: ${first?.figure ?? ''}, ${first?.unit ?? ''}; undivided ${quality(first?.denseQuality ?? 0, first?.unit ?? '%')}`,
        xLabel: 'kept ratio',
        series: [...new Set(own.map(({ shards }) => shards))].flatMap((shards) =>
          (['budget', 'uniform'] as const).flatMap((selection): Series[] => {
            const curve = own
              .filter((point) => point.shards === shards && point.selection === selection)
              .sort((a, b) => a.keep - b.keep);
            if (curve.length === 0) return [];
            return [
              {
                label: `${shards} shards, ${selection}`,
                dots: true,
                points: curve.map(
                  (point) => [point.keep, point.unit === '%' ? 100 * point.quality : point.quality] as const,
                ),
              },
            ];
          }),
        ),
      };
    }),
  );
}

function samePlace(a: Point, b: Point): boolean {
  return a.model === b.model && a.shards === b.shards && a.keep === b.keep;
}

function kilobytes(bytes: number): string {
  return (bytes / 1e3).toFixed(1);
}

function ratio(part: readonly number[], whole: readonly number[]): string {
  return (Math.max(...part) / Math.max(...whole)).toFixed(2);
}
