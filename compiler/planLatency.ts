/**
 * The plan with the shortest predicted run on a link that still answers like the model (design: select, rounds and bytes
 * against each other): exact rows, one device, or a change of axis; any of them in a narrower wire type; channels thinned to
 * some budget of exchange time; or rows early and thinned channels late. What is predicted is the lowered program of each.
 * Thinned plans are judged on inputs that they were not fitted to.
 */
import type { Model } from '../graph/graph.ts';
import type { WireChoice } from '../protocol/compileChoices.ts';
import type { Backend } from '../runtime/backend.ts';
import { type RoomCost, simulate } from '../runtime/predict/simulate.ts';
import { assertCalibration, type Calibration } from './calibrate/calibration.ts';
import type { Batch } from './calibrate/prefix.ts';
import { splitCalibration } from './calibrate/splitCalibration.ts';
import { chooseDivision } from './divide/chooseDivision.ts';
import type { DividedGraph } from './divide/dividedGraph.ts';
import { type LatencyOption, thinnedOptions } from './latencyOptions.ts';
import { type Answers, answersOf, type DividedModel, lossBetween } from './measure/answers.ts';
import type { SparsifyStep } from './sparsifySettings.ts';
import { lowerEach } from './wire/exchangeCost.ts';
import { narrowWires, wireBytes } from './wire/narrowWires.ts';

export interface LatencyOptions {
  readonly numShards: number;
  readonly cost: RoomCost;
  readonly calibration: Calibration;
  readonly backend: Backend;
  readonly openBatch: boolean;
  /** Share of answers that may change, as lossBetween counts. */
  readonly allowedLoss: number;
  /** Rows of least squares per contraction; see SparsifySettings. */
  readonly rows?: number;
  readonly onProgress?: (step: SparsifyStep, done: number, total: number) => void;
}

export interface LatencyPlan extends DividedModel, Pick<DividedGraph, 'heldWhole'> {
  readonly wire: WireChoice;
  readonly predictedMs: Readonly<Record<string, number>>;
  /** On inputs that nothing was fitted to. */
  readonly loss: number;
  readonly reason: string;
}

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
  const held = await split(calibration);
  const whole = { model, division: { numShards, shardings: new Map() } };
  const expected = await answersOf(whole, held.judged, backend, openBatch);
  const msOf = (divided: DividedModel, wire: WireChoice) =>
    simulate(lowerEach(divided.model.graph, divided.division, wire), cost).totalMs;
  const found = (['float16', 'uint8'] as const).map((wire): LatencyOption => {
    // As if the link were wider: what is really lowered is played below.
    const link = { ...cost.link, bytesPerMs: (cost.link.bytesPerMs * wireBytes.float32) / wireBytes[wire] };
    const dense = chooseDivision(graph, numShards, { ...cost, link }, openBatch, false);
    const divided = { model: { ...model, graph: dense.graph }, division: dense.division };
    return {
      ms: msOf(divided, wire),
      wire,
      reason: dense.reason,
      ...(dense.heldWhole === undefined ? {} : { heldWhole: dense.heldWhole }),
      make: async () => divided,
    };
  });
  found.push(...(await thinnedOptions(model, held.fitted, options, msOf)));
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

interface HeldOut {
  /** To fit to. */
  readonly fitted: Calibration;
  /** To judge by. */
  readonly judged: readonly Batch[];
}

/** Where there is but one batch it serves for both. */
async function split(calibration: Calibration): Promise<HeldOut> {
  const { fitted, heldOut } = await splitCalibration(calibration, mostJudged);
  if (heldOut.length > 0) return { fitted, judged: heldOut };
  const judged: Batch[] = [];
  for await (const batch of calibration.batches()) judged.push(batch);
  return { fitted, judged };
}

interface Judged {
  readonly option: LatencyOption;
  readonly divided: DividedModel;
  readonly loss: number;
}

async function judge(
  option: LatencyOption,
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
  sorted: readonly LatencyOption[],
  allowedLoss: number,
  judged: (option: LatencyOption) => Promise<Judged>,
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
