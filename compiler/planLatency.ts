/**
 * The plan with the shortest predicted run on a link that still answers like the model (design: select, rounds and bytes
 * against each other): exact rows, one device, or a change of axis; any of them in a narrower wire type; channels thinned to
 * some budget of exchange time; or rows early and thinned channels late. What is predicted is the lowered program of each.
 * Thinned plans are judged on inputs that they were not fitted to.
 */
import type { Model } from '../graph/graph.ts';
import type { WireChoice } from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import type { Division, Sharding } from '../runtime/lower/program.ts';
import { type RoomCost, simulate } from '../runtime/predict/simulate.ts';
import { type Analysis, analyse } from './analyse.ts';
import { assertCalibration, type Calibration } from './calibrate/calibration.ts';
import { chooseDivision } from './divide/chooseDivision.ts';
import type { DividedGraph } from './divide/dividedGraph.ts';
import { rowShardings } from './divide/divideRows.ts';
import {
  type Answers,
  answersOf,
  type DividedModel,
  type HeldOut,
  holdOut,
  lossBetween,
} from './measure/heldOut.ts';
import { featureSources } from './select/features.ts';
import type { Candidate } from './select/scores.ts';
import { choose, thin, thinnedDivision } from './sparsify.ts';
import type { SparsifySettings, SparsifyStep } from './sparsifySettings.ts';
import { exchangeCost, lowerEach } from './wire/exchangeCost.ts';
import { narrowWires } from './wire/narrowWires.ts';

export interface LatencyOptions {
  readonly numShards: number;
  readonly cost: RoomCost;
  readonly calibration: Calibration;
  readonly backend: Backend;
  readonly openBatch: boolean;
  /** Share of answers that may change, as lossBetween counts. */
  readonly allowedLoss: number;
  readonly onProgress?: (step: SparsifyStep, done: number, total: number) => void;
}

export interface LatencyPlan extends DividedModel, Pick<DividedGraph, 'heldWhole'> {
  readonly wire: WireChoice;
  readonly predictedMs: Readonly<Record<string, number>>;
  /** On inputs that nothing was fitted to. */
  readonly loss: number;
  readonly reason: string;
}

/** A plan that could be made; `make` fits its weights. */
interface Option extends Pick<DividedGraph, 'heldWhole'> {
  readonly ms: number;
  readonly wire: WireChoice;
  readonly reason: string;
  readonly make: () => Promise<DividedModel>;
}

/** Shares of the dense exchange's time on the link. */
const shares = [0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02];
/** Points of the graph, in parts of its length, before which rows are tried; 0 is channels throughout. */
const changes = [0, 0.2, 0.4, 0.6, 0.8];
/** A plan that is not exact must be predicted to save at least this share. */
const worthwhile = 0.98;
const mostJudged = 500;

/** Throws CALIBRATION_INVALID. */
export async function planLatency(model: Model, options: LatencyOptions): Promise<LatencyPlan> {
  const { numShards, cost, calibration, backend, openBatch, allowedLoss } = options;
  assertCalibration(calibration);
  const { graph } = model;
  const exact = chooseDivision(graph, numShards, cost, openBatch);
  const exactModel: DividedModel = { model: { ...model, graph: exact.graph }, division: exact.division };
  const heldWhole = exact.heldWhole === undefined ? {} : { heldWhole: exact.heldWhole };
  const held = await holdOut(calibration, mostJudged);
  const whole = { model, division: { numShards, shardings: new Map() } };
  const expected = await answersOf(whole, held.judged, backend, openBatch);
  const msOf = (divided: DividedModel, wire: WireChoice) =>
    simulate(lowerEach(divided.model.graph, divided.division, wire), cost).totalMs;
  const found: Option[] = (['float16', 'uint8'] as const).map((wire) => ({
    ms: msOf(exactModel, wire),
    wire,
    reason: exact.reason,
    ...heldWhole,
    make: async () => exactModel,
  }));
  found.push(...(await thinnedOptions(model, held, options, msOf)));
  const faster = found.filter(({ ms }) => ms < exact.predictedMs.auto * worthwhile);
  const chosen = await fastestGood(
    faster.sort((a, b) => a.ms - b.ms),
    allowedLoss,
    async (option) => judge(option, held, expected, options),
  );
  const { auto, ...others } = exact.predictedMs;
  const predictedMs = { ...others, exact: auto };
  if (chosen === undefined) {
    const predicted = { ...predictedMs, auto };
    return {
      ...exactModel,
      ...heldWhole,
      wire: 'float32',
      predictedMs: predicted,
      loss: 0,
      reason: exact.reason,
    };
  }
  const { option, divided, loss } = chosen;
  return {
    ...divided,
    ...(option.heldWhole === undefined ? {} : { heldWhole: option.heldWhole }),
    wire: option.wire,
    predictedMs: { ...predictedMs, auto: option.ms },
    loss,
    reason: `${option.reason.replace(/\.$/, '')}; sent as ${option.wire}; ${(100 * loss).toFixed(2)} % of what it answers on unseen inputs is not what the model answers.`,
  };
}

interface Judged {
  readonly option: Option;
  readonly divided: DividedModel;
  readonly loss: number;
}

async function judge(
  option: Option,
  held: HeldOut,
  expected: Answers,
  { backend, openBatch }: LatencyOptions,
): Promise<Judged> {
  const made = await option.make();
  const divided = await narrowWires(made.model, made.division, {
    wire: option.wire,
    calibration: held.fitted,
    backend,
    openBatch,
  });
  const loss = lossBetween(expected, await answersOf(divided, held.judged, backend, openBatch));
  return { option, divided, loss };
}

/** What takes longer answers better, nearly always: halves the list until the fastest good one is found. */
async function fastestGood(
  sorted: readonly Option[],
  allowedLoss: number,
  judged: (option: Option) => Promise<Judged>,
): Promise<Judged | undefined> {
  let best: Judged | undefined;
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const option = sorted[middle];
    if (option === undefined) break;
    const result = await judged(option);
    if (result.loss <= allowedLoss) {
      best = result;
      high = middle;
    } else low = middle + 1;
  }
  return best;
}

async function thinnedOptions(
  model: Model,
  { fitted }: HeldOut,
  { numShards, cost, backend, openBatch, onProgress }: LatencyOptions,
  msOf: (divided: DividedModel, wire: WireChoice) => number,
): Promise<Option[]> {
  const speeds = Array.from(
    { length: numShards },
    (_, shard) => (cost.devices[shard] ?? cost.devices[0])?.macsPerMs ?? 1,
  );
  const settings: SparsifySettings = {
    numShards,
    capacities: speeds,
    calibration: fitted,
    backend,
    openBatch,
    wire: 'uint8',
    ...(onProgress === undefined ? {} : { onProgress }),
  };
  const channels = await analyse(model, settings);
  const rows = rowShardings(model.graph, numShards, openBatch);
  const { length } = model.graph.nodes;
  const found: Option[] = [];
  for (const change of changes) {
    const nodes = Math.round(change * length);
    const analysis = change === 0 ? channels : changedAt(channels, rows, nodes);
    const { bytesPerMs, roundTripMs, messageMs } = cost.link;
    const link = {
      bytesPerMs: bytesPerMs * Math.max(1, numShards * (numShards - 1)),
      roundTripMs: roundTripMs / 2 + messageMs,
    };
    const budgetOf = costMs(analysis, link);
    for (const share of shares) {
      const chosen = withinReach(() =>
        choose(analysis, { latency: { ms: share * budgetOf, ...link } }, 'uint8'),
      );
      if (chosen === undefined) break;
      const division = thinnedDivision(analysis, chosen);
      const first =
        change === 0
          ? 'By channels'
          : `The first ${nodes} of ${length} nodes by rows, the others by channels`;
      found.push({
        ms: msOf({ model, division }, 'uint8'),
        wire: 'uint8',
        reason: `${first}, ${chosen.length} of ${analysis.candidates.length} features sent`,
        make: () => thin(analysis, chosen, settings),
      });
    }
  }
  return found;
}

/** Exchange time of everything that could be sent. */
function costMs(
  analysis: Analysis,
  { bytesPerMs, roundTripMs }: { readonly bytesPerMs: number; readonly roundTripMs: number },
): number {
  const { bytes, rounds } = exchangeCost(lowerEach(analysis.model.graph, analysis.division, 'uint8'));
  return bytes / bytesPerMs + rounds * roundTripMs;
}

/** Undefined where so little cannot be sent. */
function withinReach(chosen: () => readonly Candidate[]): readonly Candidate[] | undefined {
  try {
    return chosen();
  } catch (thrown) {
    if (thrown instanceof StarlingError && thrown.code === 'BUDGET_INVALID') return undefined;
    throw thrown;
  }
}

/** The same analysis with rows for the first nodes: what crosses there is exact, and is no candidate any more. */
function changedAt(analysis: Analysis, rows: ReadonlyMap<string, Sharding>, nodes: number): Analysis {
  const { model, contractions, candidates } = analysis;
  const early = new Set(model.graph.nodes.slice(0, nodes).flatMap(({ outputs }) => outputs));
  const shardings = new Map(
    [...analysis.division.shardings.keys(), ...rows.keys()].flatMap((value) => {
      const sharding = (early.has(value) ? rows : analysis.division.shardings).get(value);
      return sharding === undefined ? [] : [[value, sharding] as const];
    }),
  );
  const division: Division = { ...analysis.division, shardings };
  return {
    ...analysis,
    division,
    sources: featureSources(model.graph, division, contractions),
    candidates: candidates.filter(({ feature }) => !early.has(feature.value)),
  };
}
