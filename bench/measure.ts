/**
 * Runs the opened scenarios of a model in turns, so that a busy moment of the machine hits all of them, and keeps of
 * each the turns in which others used the machine least: that is decided by what others used, never by the result.
 */
import type { RunTimeline } from '../protocol/timeline.ts';
import { breakdownOf, type DeviceBreakdown } from './breakdown.ts';
import {
  type ExchangeCost,
  exchangeMs,
  linkFrom,
  median,
  rounded,
  type Spread,
  spreadOf,
} from './figures.ts';
import { watchOthers } from './machine.ts';
import type { PageRun } from './page/benchPage.ts';
import type { BenchPlan, Traffic } from './plans.ts';
import { type Scenario, targets, titleOf } from './scenarios.ts';
import type { Subject } from './subject.ts';

export interface MeasureOptions {
  /** Kept runs of each scenario. */
  readonly runs: number;
  /** Runs of one turn. */
  readonly runsPerTurn: number;
  /** Cores that others may use during a turn that counts as calm. */
  readonly calmCores: number;
  /** Turns at most, as a multiple of those that are needed. */
  readonly patience: number;
  /** Of several runs in flight, in each turn; 0 measures no throughput. */
  readonly throughputMs: number;
  readonly tell: (what: string) => void;
}

interface Turn {
  readonly othersCores: number | null;
  readonly runs: readonly PageRun[];
  readonly noted: PageRun;
  readonly perSecond: number | null;
}

export interface ScenarioResult extends Spread {
  readonly scenario: Scenario;
  readonly title: string;
  readonly relativeError: number;
  /** Cores that others used during the kept turns: mean and largest. */
  readonly othersCores: { readonly mean: number; readonly largest: number } | null;
  readonly stats: RunSplit | null;
  readonly traffic: Traffic | null;
  /**
   * Of stages: the same nodes as one session a device, and how much longer the stages take, with everything that lies
   * between them (the executor, frames, channels in memory) and alone.
   */
  readonly whole: (Spread & { readonly ratio: number; readonly computeRatio: number }) | null;
  /** Of the noted runs, device by device; medians. */
  readonly devices: readonly DeviceBreakdown[];
  /** The median noted run; of one link, and of few rounds: the others would be most of the file and say no more. */
  readonly timeline: RunTimeline | null;
  /** What the cost model says of it, and how far off it is: predicted over measured. */
  readonly predicted: { readonly ms: number; readonly ratio: number } | null;
  /** Runs per second with several in flight; median of the kept turns, and relative to the plain session. */
  readonly throughput: { readonly perSecond: number; readonly toPlain: number | null } | null;
  /** Median time over that of the plain session. */
  readonly toPlain: number | null;
  readonly target: number | null;
  /** Slowest device's compute, the bare exchanges that its rounds need, and the time relative to their sum. */
  readonly bound: { readonly computeMs: number; readonly exchangesMs: number; readonly ratio: number } | null;
}

/** Of the host, medians. */
interface RunSplit {
  readonly workerMs: number;
  readonly computeMs: number;
  readonly waitMs: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
  readonly rounds: number;
}

async function takeTurns(
  subjects: readonly Subject[],
  { runs, runsPerTurn, calmCores, patience, throughputMs, tell }: MeasureOptions,
): Promise<ReadonlyMap<Subject, readonly Turn[]>> {
  const needed = Math.ceil(runs / runsPerTurn);
  const turns = new Map<Subject, Turn[]>(subjects.map((subject) => [subject, []]));
  const calm = ({ othersCores }: Turn) => (othersCores ?? 0) <= calmCores;
  const missing = () => subjects.filter((one) => (turns.get(one)?.filter(calm).length ?? 0) < needed);
  for (let turn = 0; turn < needed * patience; turn++) {
    // All of them, also those that have enough: what is compared is measured at the same time.
    const left = missing();
    if (left.length === 0) break;
    tell(`turn ${turn + 1}: ${left.length} of ${subjects.length} scenarios need calm turns`);
    for (const subject of subjects) {
      subject.prepare();
      await subject.run(1, false);
      const others = watchOthers();
      const measured = await subject.run(runsPerTurn, false);
      const [noted] = await subject.run(1, true);
      const perSecond = throughputMs > 0 ? await subject.throughput(throughputMs) : null;
      const othersCores = others();
      if (noted !== undefined) turns.get(subject)?.push({ othersCores, runs: measured, noted, perSecond });
    }
  }
  return new Map(
    [...turns].map(([subject, all]) => {
      const sorted = [...all].sort((a, b) => (a.othersCores ?? 0) - (b.othersCores ?? 0));
      return [subject, sorted.slice(0, needed)];
    }),
  );
}

/** `costs`: of bare exchanges, by link. */
export async function measureModel(
  subjects: readonly Subject[],
  costs: ReadonlyMap<string, readonly ExchangeCost[]>,
  options: MeasureOptions,
): Promise<ScenarioResult[]> {
  const turns = await takeTurns(subjects, options);
  const results = subjects.map((subject) => resultOf(subject, turns.get(subject) ?? [], costs));
  const plain = results.find(({ scenario }) => scenario.kind === 'plain');
  const plainMs = plain?.medianMs ?? null;
  const plainPerSecond = plain?.throughput?.perSecond;
  return results.map((result) => ({
    ...result,
    throughput:
      result.throughput === null || plainPerSecond === undefined
        ? result.throughput
        : { ...result.throughput, toPlain: rounded(result.throughput.perSecond / plainPerSecond, 3) },
    toPlain: plainMs === null ? null : rounded(result.medianMs / plainMs, 3),
  }));
}

function resultOf(
  subject: Subject,
  turns: readonly Turn[],
  costs: ReadonlyMap<string, readonly ExchangeCost[]>,
): ScenarioResult {
  const { scenario, plan, relativeError } = subject;
  const runs = turns.flatMap((turn) => turn.runs);
  const spread = spreadOf(runs.map(({ ms }) => ms));
  const others = turns.flatMap(({ othersCores }) => (othersCores === null ? [] : [othersCores]));
  const timelines = turns.flatMap(({ noted }) => noted.report?.timeline ?? []);
  const devices = medianBreakdowns(timelines.map(breakdownOf));
  const wholes = runs.flatMap(({ wholeMs }) => wholeMs ?? []);
  const whole =
    wholes.length === 0
      ? null
      : {
          ...spreadOf(wholes),
          ratio: rounded(spread.medianMs / median(wholes), 3),
          computeRatio: rounded(devices.reduce((sum, one) => sum + one.computeMs, 0) / median(wholes), 3),
        };
  const rates = turns.flatMap(({ perSecond }) => perSecond ?? []);
  const traffic = isDivided(scenario) ? (plan?.traffic ?? null) : null;
  return {
    scenario,
    title: titleOf(scenario),
    relativeError: Number(relativeError.toPrecision(3)),
    ...spread,
    othersCores:
      others.length === 0
        ? null
        : {
            mean: rounded(others.reduce((sum, one) => sum + one, 0) / others.length),
            largest: rounded(Math.max(...others)),
          },
    stats: splitOf(runs),
    traffic,
    whole,
    devices,
    timeline: isTold(scenario, traffic)
      ? ([...timelines].sort((a, b) => a.totalMs - b.totalMs)[timelines.length >> 1] ?? null)
      : null,
    predicted: predictionOf(scenario, plan, spread.medianMs, costs),
    throughput: rates.length === 0 ? null : { perSecond: rounded(median(rates), 3), toPlain: null },
    toPlain: null,
    target: targets[scenario.kind] ?? null,
    bound:
      scenario.kind === 'two-tabs' && traffic !== null
        ? boundOf(spread.medianMs, devices, traffic, costs.get(scenario.link) ?? [])
        : null,
  };
}

const toldRounds = 40;

function isTold(scenario: Scenario, traffic: Traffic | null): boolean {
  if (scenario.kind !== 'two-tabs' || traffic === null) return false;
  return scenario.link === 'unshaped' && traffic.rounds <= toldRounds;
}

/** Whether devices exchange anything within a run. */
function isDivided(scenario: Scenario): boolean {
  return scenario.kind === 'stages' || (scenario.kind === 'two-tabs' && scenario.division !== 'requests');
}

/** Over the link as its own exchanges were measured in the same run. */
export function predictionOf(
  scenario: Scenario,
  plan: BenchPlan | null,
  medianMs: number,
  costs: ReadonlyMap<string, readonly ExchangeCost[]>,
): ScenarioResult['predicted'] {
  if (plan === null || (scenario.kind !== 'one-tab' && scenario.kind !== 'two-tabs')) return null;
  if (scenario.division === 'requests') return null;
  const ms = plan.predictedMs(
    scenario.kind === 'one-tab' ? 'one device' : linkFrom(costs.get(scenario.link) ?? []),
  );
  return { ms: rounded(ms), ratio: rounded(ms / medianMs, 3) };
}

function boundOf(
  medianMs: number,
  devices: readonly DeviceBreakdown[],
  { bytesPerRound }: Traffic,
  costs: readonly ExchangeCost[],
) {
  const computeMs = Math.max(...devices.map((device) => device.computeMs));
  const exchangesMs = bytesPerRound.reduce((sum, bytes) => sum + exchangeMs(costs, bytes), 0);
  return {
    computeMs: rounded(computeMs),
    exchangesMs: rounded(exchangesMs),
    ratio: rounded(medianMs / (computeMs + exchangesMs), 3),
  };
}

function splitOf(runs: readonly PageRun[]): RunSplit | null {
  const reports = runs.flatMap(({ report }) => report ?? []);
  if (reports.length === 0) return null;
  const of = (pick: (report: (typeof reports)[number]) => number) => rounded(median(reports.map(pick)));
  return {
    workerMs: of(({ totalMs }) => totalMs),
    computeMs: of(({ computeMs }) => computeMs),
    waitMs: of(({ waitMs }) => waitMs),
    sentBytes: of(({ sentBytes }) => sentBytes),
    receivedBytes: of(({ receivedBytes }) => receivedBytes),
    rounds: of(({ rounds }) => rounds),
  };
}

function medianBreakdowns(runs: readonly (readonly DeviceBreakdown[])[]): DeviceBreakdown[] {
  return (runs[0] ?? []).map((_, device) => {
    const of = (key: keyof DeviceBreakdown) =>
      rounded(median(runs.flatMap((one) => one[device]?.[key] ?? [])));
    return {
      computeMs: of('computeMs'),
      serialiseMs: of('serialiseMs'),
      peerMs: of('peerMs'),
      networkMs: of('networkMs'),
      localMs: of('localMs'),
      tailMs: of('tailMs'),
    };
  });
}
