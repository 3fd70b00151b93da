/** Trainings for a sparse exchange: bench/results/training.json, and their pictures beside it. */
import { markdownTable, origins, type Row, readResult, short } from './results.ts';

interface TrainingResult {
  readonly name: string;
  readonly date: string;
  readonly commit: string;
  readonly step: number;
  readonly steps: number;
  readonly seconds: number;
  readonly seed: number;
  readonly settings: { readonly numShards: number; readonly wire: string };
  readonly dense: TrainingFigures;
  readonly original?: Readonly<Record<string, number>>;
  readonly levels: readonly (TrainingFigures & {
    readonly keptFeatures: number;
    readonly rounds: number;
    readonly exchangedBytes: number;
    readonly figures?: Readonly<Record<string, number>>;
  })[];
}

interface TrainingFigures {
  readonly accuracy?: number;
  readonly loss?: number;
}

export function trainingSection(): string[] {
  const results = readResult<readonly TrainingResult[]>('training.json');
  if (results === undefined || results.length === 0) return [];
  const figures = ({ accuracy, loss }: TrainingFigures, measured: Readonly<Record<string, number>> = {}) => [
    ...(accuracy === undefined ? [] : [`top-1 ${(100 * accuracy).toFixed(2)} %`]),
    ...Object.entries(measured).map(([name, value]) => `${name} ${short(value)}`),
    ...(accuracy === undefined && Object.keys(measured).length === 0 ? [`loss ${loss?.toPrecision(3)}`] : []),
  ];
  const rows = results.flatMap((result) => {
    const { name, settings, step, steps, seconds, seed } = result;
    const progress = step < steps ? `${step} of ${steps}` : String(steps);
    const dense: Row = [
      name,
      '',
      'undivided',
      figures(result.dense, result.original).join(', '),
      '',
      '',
      '',
      '',
      '',
    ];
    const levels = result.levels.map(
      (level): Row => [
        name,
        `${settings.numShards}, ${settings.wire}`,
        short(level.keptFeatures),
        figures(level, level.figures).join(', '),
        seed,
        progress,
        Math.round(seconds / 60),
        level.rounds,
        (level.exchangedBytes / 1e3).toFixed(1),
      ],
    );
    return [dense, ...levels];
  });
  const charts = results.map(({ name }) => {
    const file = name.replaceAll('/', '-');
    return `[${name}](bench/results/training/${file}.svg)`;
  });
  return [
    `**Trained for a sparse exchange.** \`npm run train:all\`: one run thins the exchange level by level, and a branch from each level gives its figure, on the full test data (top-1: CIFAR-10's 10,000 test pictures). Kept: features sent over those that a dense exchange sends; 0 is separate branches. Curves: ${charts.join(', ')}. ${origins(results)}.`,
    '',
    markdownTable(
      ['training', 'shards, wire', 'kept', 'figure', 'seed', 'steps', 'minutes', 'rounds', 'kB exchanged'],
      rows,
    ),
    '',
  ];
}
