/** `starling train`: a classifier whose shards exchange only some features, trained from the dense model. */
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { createNodeBackend } from '../../backends/ortNode.ts';
import type { LogLine } from '../../compiler/train/loop.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Backend } from '../../runtime/backend.ts';
import { type Command, parseArguments, required, type Terminal } from '../command.ts';
import { readModelFile } from '../modelFile.ts';
import { createProgress } from '../progress.ts';
import { type Cifar10Run, trainCifar10 } from '../trainCifar10.ts';
import { openTrainingFolder } from '../trainingFolder.ts';

const options = {
  data: { type: 'string' },
  out: { type: 'string' },
  shards: { type: 'string', default: '2' },
  keep: { type: 'string', default: '0.2' },
  levels: { type: 'string', default: '0.4,0.1,0.05,0' },
  owners: { type: 'string', default: 'assigned' },
  scope: { type: 'string', default: 'uniform' },
  steps: { type: 'string', default: '4000' },
  batch: { type: 'string', default: '128' },
  rate: { type: 'string', default: '0.03' },
  'label-weight': { type: 'string', default: '0.2' },
  temperature: { type: 'string', default: '2' },
  'weight-decay': { type: 'string', default: '0.0001' },
  seed: { type: 'string', default: '1' },
  threads: { type: 'string' },
  backend: { type: 'string', default: 'auto' },
} as const;

export const train: Command = {
  name: 'train',
  summary: 'Thin the exchange of a divided model step by step while its weights adapt.',
  usage:
    'MODEL --data cifar10 --out DIR [--shards 2] [--keep 0.2] [--levels 0.4,0.1,0.05,0] [--owners assigned|contiguous] [--scope uniform|global] [--steps 4000] [--batch 128] ' +
    '[--rate 0.03] [--label-weight 0.2] [--temperature 2] [--weight-decay 0.0001] [--seed 1] [--threads N] ' +
    '[--backend auto|native|wasm]',
  async run(args, terminal) {
    const { values, positionals } = parseArguments(args, options, ['MODEL']);
    const data = required(values.data, '--data');
    if (data !== 'cifar10') throw new StarlingError('USAGE', `Expected --data cifar10, got "${data}".`);
    const run: Cifar10Run = {
      numShards: numberOf('--shards', values.shards, 1, limits.shards, true),
      keep: numberOf('--keep', values.keep, 0, 1),
      levels: values.levels
        .split(',')
        .flatMap((text) => (text === '' ? [] : [numberOf('--levels', text, 0, 1)])),
      owners: oneOf('--owners', values.owners, ['contiguous', 'assigned']),
      scope: oneOf('--scope', values.scope, ['uniform', 'global']),
      steps: numberOf('--steps', values.steps, 1, 1e7, true),
      batch: numberOf('--batch', values.batch, 2, 4096, true),
      rate: numberOf('--rate', values.rate, 0, 10),
      labelWeight: numberOf('--label-weight', values['label-weight'], 0, 1),
      temperature: numberOf('--temperature', values.temperature, 0.01, 100),
      weightDecay: numberOf('--weight-decay', values['weight-decay'], 0, 1),
      seed: numberOf('--seed', values.seed, 0, 2 ** 31, true),
    };
    const threads =
      values.threads === undefined ? undefined : numberOf('--threads', values.threads, 1, 256, true);
    const [path = ''] = positionals;
    const out = required(values.out, '--out');
    const model = await readModelFile(path);
    const folder = await openTrainingFolder(out, { model: path, ...run, levels: run.levels.join() });
    const backend = await chooseBackend(
      oneOf('--backend', values.backend, ['auto', 'native', 'wasm']),
      threads,
      terminal,
    );
    const progress = createProgress({ label: 'Training', stream: terminal.stderr });
    const stop = new AbortController();
    const onInterrupt = (): void => stop.abort();
    process.once('SIGINT', onInterrupt);
    try {
      const report = await trainCifar10(model, run, backend, folder, {
        signal: stop.signal,
        onLine: (line) => progress.update(line.step, run.steps, noteOf(line)),
      });
      progress.end();
      terminal.print(
        [
          `${out}: ${report.step} of ${run.steps} steps${report.aborted ? ', stopped early: the same command goes on' : ''}; dense top-1 ${percent(report.denseAccuracy)}`,
          ...report.curve.map(
            ({ keep, accuracy, keptFeatures }) =>
              `kept ${keep} (${keptFeatures.toFixed(3)} of the features): top-1 ${percent(accuracy)}`,
          ),
        ].join('\n'),
      );
      return 0;
    } finally {
      process.removeListener('SIGINT', onInterrupt);
    }
  },
};

async function chooseBackend(
  choice: 'auto' | 'native' | 'wasm',
  threads: number | undefined,
  terminal: Terminal,
): Promise<Backend> {
  if (choice === 'wasm') return createHeapBackend({ threads });
  try {
    return await createNodeBackend({ threads });
  } catch (thrown) {
    const error = StarlingError.from(thrown, 'BACKEND_UNAVAILABLE');
    if (choice === 'native' || error.code !== 'BACKEND_UNAVAILABLE') throw error;
    terminal.stderr.write(
      `${error.message} Training goes on with WASM, which takes several times as long.\n`,
    );
    return createHeapBackend({ threads });
  }
}

function noteOf(line: LogLine): string {
  return line.type === 'train'
    ? `loss ${line.loss.toFixed(3)}, kept ${line.keptFeatures.toFixed(2)}, ${line.secondsPerStep.toFixed(2)} s/step`
    : `accuracy ${percent(line.accuracy)}`;
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

function numberOf(option: string, text: string, low: number, high: number, whole = false): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= low && value <= high && (!whole || Number.isInteger(value)))
    return value;
  throw new StarlingError(
    'USAGE',
    `Expected ${option} to be ${whole ? 'a whole number' : 'a number'} from ${low} to ${high}, got "${text}".`,
  );
}

function oneOf<const T extends string>(option: string, text: string, choices: readonly T[]): T {
  const choice = choices.find((candidate) => candidate === text);
  if (choice !== undefined) return choice;
  throw new StarlingError('USAGE', `Expected ${option} ${choices.join(', ')}, got "${text}".`);
}
