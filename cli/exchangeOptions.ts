/** What the command line says of an exchange: its budget, its wire type, and the sample inputs that both are made from. */
import type {
  CompileOptions,
  ScaleChoice,
  SparseOptions,
  WireChoice,
  WireOptions,
} from '../compiler/compile.ts';
import type { Budget } from '../compiler/select/budget.ts';
import { preparationNames } from '../eval/preparations.ts';
import type { Model } from '../graph/graph.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { LinkCost } from '../runtime/predict/costModel.ts';
import { calibrationData } from './calibrationData.ts';
import { oneOf } from './evalTasks.ts';

/** For parseArguments. */
export const exchangeArguments = {
  calibrate: { type: 'string' },
  normalise: { type: 'string' },
  keep: { type: 'string' },
  sweep: { type: 'string' },
  labels: { type: 'string' },
  bytes: { type: 'string' },
  rounds: { type: 'string' },
  within: { type: 'string' },
  capacity: { type: 'string' },
  sparsity: { type: 'string' },
  latency: { type: 'boolean' },
  loss: { type: 'string' },
  wire: { type: 'string', default: 'float32' },
  'wire-scale': { type: 'string', default: 'feature' },
} as const;

export interface ExchangeValues {
  readonly calibrate?: string | undefined;
  /** How the pictures of a calibration folder become inputs. */
  readonly normalise?: string | undefined;
  readonly keep?: string | undefined;
  readonly sweep?: string | undefined;
  /** A .npy file with the class of each sample. */
  readonly labels?: string | undefined;
  readonly bytes?: string | undefined;
  readonly rounds?: string | undefined;
  readonly within?: string | undefined;
  readonly capacity?: string | undefined;
  readonly sparsity?: string | undefined;
  /** Axis, budget and wire type are looked for. */
  readonly latency?: boolean | undefined;
  readonly loss?: string | undefined;
  readonly wire: string;
  readonly 'wire-scale': string;
}

const wireChoices: readonly string[] = ['float32', 'float16', 'uint8'] satisfies readonly WireChoice[];
const scaleChoices: readonly string[] = ['feature', 'tensor'] satisfies readonly ScaleChoice[];

/** Throws StarlingError USAGE, and CALIBRATION_INVALID where the samples do not fit the model. */
export async function parseExchange(
  values: ExchangeValues,
  numShards: number,
  link: LinkCost,
  model: () => Model,
  shapes: Readonly<Record<string, readonly number[]>> = {},
): Promise<
  (progress: Pick<SparseOptions, 'onProgress'>) => Pick<CompileOptions, 'sparse' | 'wire' | 'latency'>
> {
  const budget = { ...parseBudget(values), ...parseWithin(values.within, numShards, link) };
  const wire = parseWire(values.wire, values['wire-scale']);
  const capacities = values.capacity === undefined ? undefined : parseCapacities(values.capacity, numShards);
  const sparsity = values.sparsity === undefined ? undefined : parseSparsity(values.sparsity);
  const thin = Object.keys(budget).length > 0 || sparsity !== undefined || values.sweep !== undefined;
  const allowedLoss = values.latency === true ? parseLoss(values, thin) : undefined;
  if (values.loss !== undefined && values.latency !== true)
    throw missing('--loss', '--latency: it says how many answers that may change');
  if (values.calibrate === undefined) {
    for (const name of ['normalise', 'labels'] as const)
      if (values[name] !== undefined) throw missing(`--${name}`, 'sample inputs (--calibrate)');
    if (allowedLoss !== undefined) throw missing('--latency', 'sample inputs (--calibrate)');
    if (thin) throw missing('A thinned exchange', 'sample inputs (--calibrate)');
    if (wire.type === 'uint8') throw missing('A wire type of uint8', 'sample inputs (--calibrate)');
  } else if (!thin && allowedLoss === undefined && wire.type !== 'uint8') {
    throw missing(
      'Sample inputs',
      'a budget (--keep, --bytes, --rounds, --within or --sparsity), --latency or --wire uint8 to be of use',
    );
  }
  if (capacities !== undefined && !thin) {
    throw missing(
      '--capacity',
      'a budget (--keep, --bytes, --rounds, --within or --sparsity): it deals out the channels of a thinned exchange',
    );
  }
  const calibration =
    values.calibrate === undefined
      ? undefined
      : await calibrationData(values.calibrate, model(), {
          prepare:
            values.normalise === undefined
              ? undefined
              : oneOf(preparationNames, values.normalise, '--normalise'),
          shapes,
          labels: values.labels,
        });
  if (calibration !== undefined && allowedLoss !== undefined)
    return (progress) => ({ latency: { calibration, allowedLoss, ...progress } });
  return (progress) => ({
    wire: { ...wire, ...(calibration === undefined ? {} : { calibration }) },
    ...(calibration === undefined || !thin
      ? {}
      : {
          sparse: {
            calibration,
            budget,
            ...(capacities === undefined ? {} : { capacities }),
            ...(sparsity === undefined ? {} : { sparsity }),
            ...progress,
          },
        }),
  });
}

function missing(what: string, needed: string): StarlingError {
  return new StarlingError('USAGE', `${what} needs ${needed}.`);
}

/** Throws USAGE. */
function parseBudget(values: ExchangeValues): Budget {
  const entries = (['keep', 'bytes', 'rounds'] as const).flatMap((name) => {
    const text = values[name];
    if (text === undefined) return [];
    const number = text.trim() === '' ? Number.NaN : Number(text);
    const fits = number >= 0 && (name === 'keep' ? number <= 1 : Number.isInteger(number));
    if (fits) return [[name, number] as const];
    const expected = name === 'keep' ? 'a number from 0 to 1' : 'a whole number, 0 or more,';
    throw new StarlingError('USAGE', `Expected ${expected} for --${name}, got "${text}".`);
  });
  return Object.fromEntries(entries);
}

/** `40ms`: what all exchanges of a run may take on the link. Throws USAGE. */
function parseWithin(text: string | undefined, numShards: number, link: LinkCost): Pick<Budget, 'latency'> {
  if (text === undefined) return {};
  const [, digits] = /^(\d+(?:\.\d+)?)(?:ms)?$/.exec(text) ?? [];
  if (digits === undefined) throw new StarlingError('USAGE', `Expected --within like 40ms, got "${text}".`);
  const { bytesPerMs, roundTripMs, messageMs } = link;
  return {
    latency: {
      ms: Number(digits),
      // Every shard sends to every other at the same time.
      bytesPerMs: bytesPerMs * Math.max(1, numShards * (numShards - 1)),
      roundTripMs: roundTripMs / 2 + messageMs,
    },
  };
}

/** Throws USAGE. */
function parseWire(type: string, scalePer: string): WireOptions {
  if (!wireChoices.includes(type)) {
    throw new StarlingError('USAGE', `Expected --wire ${wireChoices.join(' or ')}, got "${type}".`);
  }
  if (!scaleChoices.includes(scalePer)) {
    throw new StarlingError(
      'USAGE',
      `Expected --wire-scale ${scaleChoices.join(' or ')}, got "${scalePer}".`,
    );
  }
  return { type: type as WireChoice, scalePer: scalePer as ScaleChoice };
}

/** Throws USAGE, also where something is asked for that is looked for. */
function parseLoss(values: ExchangeValues, thin: boolean): number {
  if (thin || values.capacity !== undefined || values.wire !== 'float32') {
    throw new StarlingError(
      'USAGE',
      '--latency looks for the axis, the budget and the wire type itself; leave --keep, --bytes, --rounds, --within, --sparsity, --capacity and --wire away, or --latency.',
    );
  }
  const text = values.loss ?? '0.02';
  const loss = text.trim() === '' ? Number.NaN : Number(text);
  if (loss >= 0 && loss <= 1) return loss;
  throw new StarlingError('USAGE', `Expected --loss from 0 to 1, such as 0.02, got "${text}".`);
}

/** Throws USAGE. */
function parseSparsity(text: string): number {
  const sparsity = text.trim() === '' ? Number.NaN : Number(text);
  if (sparsity >= 0 && sparsity < 1) return sparsity;
  throw new StarlingError('USAGE', `Expected --sparsity from 0 to below 1, such as 0.75, got "${text}".`);
}

/** `3,1`: what part of the channels each shard owns, relative to the others. Throws USAGE. */
function parseCapacities(text: string, numShards: number): readonly number[] {
  const shares = text.split(',').map(Number);
  if (shares.length === numShards && shares.every((share) => share > 0 && Number.isFinite(share)))
    return shares;
  throw new StarlingError(
    'USAGE',
    `Expected --capacity with ${numShards} positive numbers, one for each shard, such as ${Array.from({ length: numShards }, (_, i) => (i === 0 ? 3 : 1)).join()}; got "${text}".`,
  );
}
