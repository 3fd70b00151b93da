/** `starling eval`: the figure that papers report of a task, of a plan's shards and beside it of the model it was made from. */
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel, type DivisionAxis } from '../../compiler/compile.ts';
import { normalisations } from '../../eval/normalisations.ts';
import type { Evaluation, Predict } from '../../eval/task.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import { openPlan, type Plan } from '../../runtime/plan.ts';
import { fileWeights } from '../../runtime/weights/blob.ts';
import { type Command, parseArguments, required } from '../command.ts';
import { evalTaskNames, evalTasks, oneOf } from '../evalTasks.ts';
import { readBytes } from '../files.ts';
import { parsePlacement } from '../placement.ts';
import { openPlanFolder, readWeights } from '../planFolder.ts';
import { createProgress } from '../progress.ts';
import { RoomPredictor, type WeightedPlan, wholePredictor } from '../roomPredictor.ts';
import { siblingReader } from '../siblingReader.ts';
import { formatTable } from '../table.ts';

/** Data that cannot be read is the caller's to mend, whatever layer noticed. */
function unreadable(thrown: unknown): StarlingError {
  return StarlingError.from(thrown, 'FILE_UNREADABLE', 'The data cannot be read');
}

/** Plans of other input shapes, divided as the given one is. */
function compilerOf(
  { file }: Plan,
  model: Uint8Array,
  path: string,
  backend: Backend,
): (input: string, dims: readonly number[]) => Promise<WeightedPlan> {
  return async (input, dims) => {
    const { files } = await compileModel(model, {
      name: file.name,
      numShards: file.numShards,
      axis: file.metadata['axis'] as DivisionAxis,
      shapes: { [input]: dims },
      external: siblingReader(path),
      backend,
    });
    const read = (name: string) => files.get(name) ?? new Uint8Array(0);
    const plan = await openPlan((name) => Promise.resolve(read(name)));
    return {
      plan,
      weights: fileWeights(
        plan,
        plan.file.weights.map((weight) => read(weight.path)),
      ),
    };
  };
}

export const evalCommand: Command = {
  name: 'eval',
  summary: 'Measure a plan on labelled pictures: accuracy, mAP, mean IoU or PSNR.',
  usage:
    `DIR --task ${evalTaskNames.join('|')} [--data cifar10|FOLDER] [--model MODEL] [--placement 0,1/2,3] ` +
    `[--normalise ${Object.keys(normalisations).join('|')}] [--limit N] [--json]`,
  async run(args, terminal) {
    const { values, positionals } = parseArguments(
      args,
      {
        task: { type: 'string' },
        data: { type: 'string' },
        model: { type: 'string' },
        placement: { type: 'string' },
        normalise: { type: 'string' },
        limit: { type: 'string' },
        json: { type: 'boolean' },
      },
      ['DIR'],
    );
    const [folder = ''] = positionals;
    const taskName = oneOf(evalTaskNames, required(values.task, '--task'), '--task');
    const { data, normalise, limit } = values;
    const plan = await openPlanFolder(folder);
    const weights = await readWeights(folder, plan);
    const placement =
      values.placement === undefined ? oneShardEach(plan.file.numShards) : parsePlacement(values.placement);
    const backend = await createHeapBackend();
    let original: Predict | undefined;
    let compileFor: ReturnType<typeof compilerOf> | undefined;
    if (values.model !== undefined) {
      const model = await readBytes(values.model, 'MODEL_NOT_FOUND');
      original = await wholePredictor(model, backend);
      compileFor = compilerOf(plan, model, values.model, backend);
    }
    const task = await evalTasks[taskName](plan, { data, normalise, limit }).catch((thrown: unknown) => {
      throw unreadable(thrown);
    });
    const predictor = new RoomPredictor({ given: { plan, weights }, placement, backend, compileFor });
    const progress = createProgress({ label: 'Evaluating', stream: terminal.stderr });
    const start = performance.now();
    try {
      const evaluation = await task.run({
        predict: predictor.predict,
        original,
        onProgress: (done, total) => progress.update(done, total),
      });
      const result = {
        plan: plan.file.name,
        task: taskName,
        numShards: plan.file.numShards,
        axis: plan.file.metadata['axis'] ?? '',
        placement,
        ...evaluation,
        ...predictor.cost,
        seconds: Math.round((performance.now() - start) / 1000),
      };
      terminal.print(values.json === true ? JSON.stringify(result) : evaluationText(result));
    } finally {
      progress.end();
      await predictor.close();
    }
    return 0;
  },
};

function evaluationText(result: Evaluation & { readonly plan: string; readonly task: string }): string {
  const { figures, original, agreement, count } = result;
  const rows = Object.entries(figures).map(([name, value]) => [
    name,
    value.toFixed(4),
    ...(original === undefined ? [] : [(original[name] ?? Number.NaN).toFixed(4)]),
  ]);
  const table = formatTable([
    ['', 'shards', ...(original === undefined ? [] : ['original'])],
    ...rows,
    ...(agreement === undefined ? [] : [['alike', `${(100 * agreement).toFixed(4)} %`]]),
  ]);
  return `${result.plan}: ${result.task} on ${count} pictures\n${table}`;
}
