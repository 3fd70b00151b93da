/**
 * The thinned plans that planLatency chooses from: channels thinned to several exchange times, throughout or after a change
 * from rows. Each comes with its predicted time; weights are fitted only where it is asked for.
 */
import type { Model } from '../graph/graph.ts';
import type { WireChoice } from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Division, Sharding } from '../runtime/lower/program.ts';
import { type Analysis, analyse } from './analyse.ts';
import type { Calibration } from './calibrate/calibration.ts';
import { rescoredAt } from './chooseBest.ts';
import type { DividedGraph } from './divide/dividedGraph.ts';
import { rowShardings } from './divide/divideRows.ts';
import type { DividedModel } from './measure/answers.ts';
import { sentTogether } from './order/sentTogether.ts';
import type { LatencyOptions } from './planLatency.ts';
import { project } from './project/project.ts';
import { featureSources } from './select/features.ts';
import type { Candidate } from './select/scores.ts';
import type { SparsifySettings } from './sparsifySettings.ts';
import { choose, thin, thinnedDivision } from './thin.ts';
import { exchangeCost, lowerEach } from './wire/exchangeCost.ts';

/** A plan that could be made; `make` fits its weights. */
export interface LatencyOption extends Pick<DividedGraph, 'heldWhole'> {
  readonly ms: number;
  readonly wire: WireChoice;
  readonly reason: string;
  readonly make: () => Promise<DividedModel>;
}

/** Shares of the dense exchange's time on the link. */
const shares = [1, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0.02];
/** Points of the graph, in parts of its length, before which rows are tried; 0 is channels throughout. */
const changes = [0, 0.2, 0.4, 0.6, 0.8];
export async function thinnedOptions(
  model: Model,
  fitted: Calibration,
  { numShards, cost, backend, openBatch, rows, onProgress }: LatencyOptions,
  msOf: (divided: DividedModel, wire: WireChoice) => number,
): Promise<LatencyOption[]> {
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
    ...(rows === undefined ? {} : { rows }),
    ...(onProgress === undefined ? {} : { onProgress }),
  };
  const { bytesPerMs, roundTripMs, messageMs } = cost.link;
  const link = {
    bytesPerMs: bytesPerMs * Math.max(1, numShards * (numShards - 1)),
    roundTripMs: roundTripMs / 2 + messageMs,
  };
  const channels = await rescored(await analyse(model, settings), link, settings);
  const strips = rowShardings(model.graph, numShards, openBatch);
  const { length } = model.graph.nodes;
  const found: LatencyOption[] = [];
  for (const change of changes) {
    const nodes = Math.round(change * length);
    const analysis = change === 0 ? channels : changedAt(channels, strips, nodes);
    const projecting = await project(analysis, settings);
    const offered = projecting?.analysis ?? analysis;
    const budgetOf = costMs(analysis, link);
    for (const share of shares) {
      const chosen = withinReach(() =>
        choose(offered, { latency: { ms: share * budgetOf, ...link } }, 'uint8'),
      );
      if (chosen === undefined) break;
      const sent = projecting?.only(chosen) ?? { analysis, chosen };
      const divided = {
        model: sent.analysis.model,
        division: thinnedDivision(sent.analysis, sent.chosen),
      };
      const first =
        change === 0
          ? 'By channels'
          : `The first ${nodes} of ${length} nodes by rows, the others by channels`;
      found.push({
        ms: msOf(divided, 'uint8'),
        wire: 'uint8',
        reason: `${first}, ${sent.chosen.length} of ${analysis.candidates.length} features sent`,
        make: async () => sentTogether(await thin(sent.analysis, sent.chosen, settings), openBatch),
      });
    }
  }
  return found;
}

interface Link {
  readonly bytesPerMs: number;
  readonly roundTripMs: number;
}

/** Share of the dense exchange's time at which features are scored for all others. */
const scoredAt = 0.25;

async function rescored(analysis: Analysis, link: Link, settings: SparsifySettings): Promise<Analysis> {
  const budget = { latency: { ms: scoredAt * costMs(analysis, link), ...link } };
  const reached = withinReach(() => choose(analysis, budget, settings.wire)) !== undefined;
  return reached ? rescoredAt(analysis, budget, settings) : analysis;
}

/** Exchange time of everything that could be sent. */
function costMs(analysis: Analysis, { bytesPerMs, roundTripMs }: Link): number {
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
