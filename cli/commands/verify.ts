/** `starling verify`: runs a plan's shards on devices in this process against the original model. */
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { type Verification, verifyPlan } from '../../compiler/measure/verify.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import { narrows } from '../../runtime/plan.ts';
import { type Command, parseArguments, required } from '../command.ts';
import { readBytes } from '../files.ts';
import { numberOf } from '../numberOption.ts';
import { parsePlacement } from '../placement.ts';
import { openPlanFolder, readWeights } from '../planFolder.ts';
import { siblingReader } from '../siblingReader.ts';
import { formatTable } from '../table.ts';

/** Largest relative error that a float32 plan may have, against the model or between placements. */
const tolerance = 1e-4;
/** Relative RMS between placements of a plan that sends narrower types: a value at a rounding boundary may fall to either side. */
const narrowTolerance = 5e-3;

interface Verdict {
  readonly passed: boolean;
  readonly sentence: string;
}

/** A sparse or narrowed plan is another function than the model, and must be the same one in every placement. */
function verdictOf({ relativeError, agreement, amongPlacements }: Verification, narrow: boolean): Verdict {
  if (amongPlacements === undefined) {
    const passed = relativeError <= tolerance;
    const differs = `Differs by more than ${tolerance} of the largest output.`;
    return { passed, sentence: passed ? 'The plan computes what the model computes.' : differs };
  }
  const error = narrow ? amongPlacements.relativeRms : amongPlacements.relativeError;
  const limit = narrow ? narrowTolerance : tolerance;
  const model = `It decides like the model for ${(100 * agreement).toFixed(1)} % of these inputs.`;
  if (error <= limit) return { passed: true, sentence: `Every placement computes the same. ${model}` };
  return {
    passed: false,
    sentence: `This placement differs from another by ${error.toExponential(1)}, and ${limit} is allowed. ${model}`,
  };
}

/** Throws StarlingError USAGE. */
function parseRange(text: string): readonly [number, number] {
  const [low, high, ...rest] = text.split(',').map(Number);
  if (low !== undefined && high !== undefined && rest.length === 0 && low < high) return [low, high];
  throw new StarlingError('USAGE', `Expected --range like 0,255, got "${text}".`);
}

function between(comparison: Verification['amongPlacements']): [string, number][] {
  if (comparison === undefined) return [];
  const { relativeError, relativeRms } = comparison;
  return [
    ['relativeErrorBetweenPlacements', relativeError],
    ['relativeRmsBetweenPlacements', relativeRms],
  ];
}

/** Differences of rounding have many digits and few that matter; counts have all. */
function figure(value: number | readonly number[]): string {
  return typeof value !== 'number' || Number.isInteger(value) ? String(value) : value.toExponential(2);
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
      placement: values.placement === undefined ? oneShardEach(numShards) : parsePlacement(values.placement),
      samples: numberOf('--samples', values.samples, 1, 1e6, true),
      seed: numberOf('--seed', values.seed, 0, 2 ** 31, true),
      ...(values.range === undefined ? {} : { inputRange: parseRange(values.range) }),
      backend: await createHeapBackend(),
    });
    const { passed, sentence } = verdictOf(result, narrows(plan.division));
    if (values.json === true) terminal.print(JSON.stringify(result));
    else {
      const { amongPlacements, ...figures } = result;
      const rows = [...Object.entries(figures), ...between(amongPlacements)];
      terminal.print(formatTable(rows.map(([key, value]) => [key, figure(value)])));
      terminal.print(sentence);
    }
    return passed ? 0 : 1;
  },
};
