/** Trainings for a sparse exchange: bench/results/training.json, and their pictures beside it. */
import { type Headline, markdownTable, origins, type Row, readResult, short } from './results.ts';

interface TrainingResult {
  readonly name: string;
  readonly date: string;
  readonly commit: string;
  readonly step: number;
  readonly steps: number;
  readonly seconds: number;
  readonly seed: number;
  readonly settings: { readonly numShards: number; readonly wire: string };
  readonly dense: TrainingFigures & { readonly exchangedBytes?: number };
  readonly teacher?: TrainingFigures;
  readonly original?: Readonly<Record<string, number>>;
  readonly levels: readonly (TrainingFigures & {
    readonly keep: number;
    readonly exchangedBytes: number;
    readonly figures?: Readonly<Record<string, number>>;
  })[];
}

interface TrainingFigures {
  readonly accuracy?: number;
  readonly loss?: number;
}

interface StepResult {
  readonly date: string;
  readonly backend: string;
  readonly threads: number;
  readonly batch: number;
  readonly stepBest: number;
}

/** Seconds that PyTorch 1.13 took for the same step on the same two cores. */
const pytorchSeconds = 0.26;

function stepLines(): string[] {
  const step = readResult<StepResult>('training-step.json');
  if (step === undefined) return [];
  const { stepBest, threads, batch, backend, date } = step;
  const seconds = stepBest / 1000;
  return [
    `One step of ${batch} pictures of resnet20 with its teacher takes ${seconds.toFixed(2)} s on ${threads} threads of onnxruntime-${backend} (\`bench/trainingStep.ts\`, the best of 10 of each part, ${date.slice(0, 10)}): ${(seconds / pytorchSeconds).toFixed(2)}x of what PyTorch 1.13 took there.`,
    '',
  ];
}

type Measured = Readonly<Record<string, number>>;

/** The task's own figure where there is one, else what training measures. */
function figure({ accuracy, loss }: TrainingFigures, measured: Measured = {}): string {
  const task = Object.entries(measured).map(([name, value]) => `${name} ${short(value)}`);
  if (task.length > 0) return task.join(', ');
  return accuracy === undefined ? `loss ${loss?.toPrecision(3)}` : `${(100 * accuracy).toFixed(2)} %`;
}

function kilobytes(bytes: number | undefined): string {
  return bytes === undefined ? '' : ` (${(bytes / 1e3).toFixed(1)} kB)`;
}

/** What two shards reach at a fifth of the exchange, and without any. */
export function trainingHeadline(): Headline[] {
  const named = (readResult<readonly TrainingResult[]>('training.json') ?? []).flatMap(
    ({ name, settings, dense, teacher, original, levels }) => {
      const [kept, apart] = [0.2, 0].map((keep) => levels.find((level) => level.keep === keep));
      if (settings.numShards === 1 || kept === undefined) return [];
      const beside = apart === undefined ? '' : ` (kept 0: ${figure(apart, apart.figures)})`;
      return `${name} ${figure(kept, kept.figures)} of ${figure(teacher ?? dense, original)}${beside}`;
    },
  );
  return named.length === 0 ? [] : [{ what: 'kept 0.2, trained for it', figure: named.join('; ') }];
}

/** One line a run, one column a kept ratio. */
export function trainingSection(): string[] {
  const results = readResult<readonly TrainingResult[]>('training.json');
  if (results === undefined || results.length === 0) return [];
  const ratios = [...new Set(results.flatMap(({ levels }) => levels.map(({ keep }) => keep)))];
  const columns = ratios.sort((a, b) => b - a);
  const rows = results.map((result): Row => {
    const { name, settings, step, steps, seconds, seed, dense, original, levels } = result;
    const cells = columns.map((keep) => {
      const level = levels.find((one) => one.keep === keep);
      return level === undefined ? '' : `${figure(level, level.figures)}${kilobytes(level.exchangedBytes)}`;
    });
    const progress = step < steps ? `${step} of ${steps}` : steps;
    const start = `${figure(dense, original)}${kilobytes(dense.exchangedBytes)}`;
    const chart = `[${name}](bench/results/training/${name.replaceAll('/', '-')}.svg)`;
    const about = `${settings.numShards}, ${settings.wire}`;
    return [chart, about, seed, progress, Math.round(seconds / 60), start, ...cells];
  });
  return [
    `**Trained for a sparse exchange.** \`npm run train:all\`: one run thins the exchange level by level, and a branch from each level gives its figure, on the full test data (without a name: top-1 on CIFAR-10's 10,000 test pictures), with the bytes of one sample between shards. Kept: features sent over those of a dense exchange; 0 is separate branches. Begun from: the model that it started with, and what its division exchanges when nothing is thinned. ${origins(results)}.`,
    '',
    markdownTable(
      [
        'training',
        'shards, wire',
        'seed',
        'steps',
        'minutes',
        'begun from',
        ...columns.map((keep) => `kept ${keep}`),
      ],
      rows,
    ),
    '',
    ...stepLines(),
  ];
}
