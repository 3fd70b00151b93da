/** `starling verify`: runs a plan's shards on devices in this process against the original model. */
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { verifyPlan } from '../../compiler/measure/verify.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { type Command, parseArguments, required } from '../command.ts';
import { readBytes, siblingReader } from '../files.ts';
import { onePerDevice, parsePlacement } from '../placement.ts';
import { openPlanFolder, readWeights } from '../planFolder.ts';
import { formatTable } from '../table.ts';

/** Largest relative error that a float32 plan may have. */
const tolerance = 1e-4;

/** Throws StarlingError USAGE. */
function parseRange(text: string): readonly [number, number] {
  const [low, high, ...rest] = text.split(',').map(Number);
  if (low !== undefined && high !== undefined && rest.length === 0 && low < high) return [low, high];
  throw new StarlingError('USAGE', `Expected --range like 0,255, got "${text}".`);
}

export const verify: Command = {
  name: 'verify',
  summary: 'Compare a plan with the model it was made from; exit code 1 where they differ.',
  usage: 'DIR --model MODEL [--placement 0,1/2,3] [--samples 8] [--seed 1] [--range LOW,HIGH] [--json]',
  async run(args, terminal) {
    const { values, positionals } = parseArguments(
      args,
      {
        model: { type: 'string' },
        placement: { type: 'string' },
        samples: { type: 'string', default: '8' },
        seed: { type: 'string', default: '1' },
        range: { type: 'string' },
        json: { type: 'boolean' },
      },
      ['DIR'],
    );
    const [folder = ''] = positionals;
    const modelPath = required(values.model, '--model');
    const plan = await openPlanFolder(folder);
    const { numShards } = plan.file;
    const result = await verifyPlan({
      plan,
      weights: await readWeights(folder, plan),
      model: await readBytes(modelPath, 'MODEL_NOT_FOUND'),
      external: siblingReader(modelPath),
      placement: values.placement === undefined ? onePerDevice(numShards) : parsePlacement(values.placement),
      samples: Number(values.samples),
      seed: Number(values.seed),
      ...(values.range === undefined ? {} : { inputRange: parseRange(values.range) }),
      backend: await createHeapBackend(),
    });
    const passed = result.relativeError <= tolerance;
    if (values.json === true) terminal.print(JSON.stringify(result));
    else {
      terminal.print(formatTable(Object.entries(result).map(([key, value]) => [key, String(value)])));
      terminal.print(
        passed
          ? 'The plan computes what the model computes.'
          : `Differs by more than ${tolerance} of the largest output.`,
      );
    }
    return passed ? 0 : 1;
  },
};
