/**
 * Looks for the division with the shortest predicted run: by rows, by channels, by rows up to some point and by
 * channels after it, and with halos recomputed instead of exchanged where that is cheaper. Every candidate is lowered
 * for one shard on each device and played on the virtual clock; nothing is estimated twice.
 */

import type { Graph } from '../../graph/graph.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { allOnOne, oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division, RoomProgram, Sharding } from '../../runtime/lower/program.ts';
import { checkMemoryLimits, type MemoryLimits, memoryShare } from '../../runtime/predict/memoryLimit.ts';
import { type RoomCost, simulate } from '../../runtime/predict/simulate.ts';
import { cheapChannels } from './cheapChannels.ts';
import { divideByChannels } from './divideChannels.ts';
import type { DividedGraph } from './dividedGraph.ts';
import { rowShardings } from './divideRows.ts';
import { type GraphStatistics, graphStatistics, statisticsShardings } from './statisticsShardings.ts';

export interface ChosenDivision extends DividedGraph {
  /** Name of a candidate -> predicted milliseconds of a run. `one` is the first device alone. */
  readonly predictedMs: Readonly<Record<'one' | 'channels' | 'rows' | 'auto', number>>;
  /** One sentence: what was taken. */
  readonly reason: string;
}

type Axis = 'rows' | 'channels' | 'none';

/** What a network may begin with and change to once on its way. */
const changes: readonly (readonly [Axis, Axis])[] = [
  ['rows', 'channels'],
  ['rows', 'none'],
  ['channels', 'none'],
];

interface Candidate extends DividedGraph {
  readonly room: RoomProgram;
  readonly ms: number;
  /** Of the limit, where it is worst; above 1 it does not fit. */
  readonly memory: number;
}

/** A division that fits comes before one that does not, and the nearest before those further off. */
function isBetter(a: Candidate, b: Candidate, share = 1): boolean {
  const [overA, overB] = [Math.max(1, a.memory), Math.max(1, b.memory)];
  return overA === overB ? a.ms < b.ms * share : overA < overB;
}

interface Change extends Candidate {
  readonly nodes: number;
  readonly first: Axis;
  readonly rest: Axis;
}

/** Points at which a change of axis is tried first, and how many around the best one then. */
const coarsePoints = 8;
/** A change must save at least this share, or fewer exchanges would be traded for nothing. */
const worthwhile = 0.995;

class Search {
  readonly #graph: Graph;
  readonly #cost: PlanningCost;
  readonly #numShards: number;
  readonly #openBatch: boolean;
  readonly #statistics: GraphStatistics;
  readonly #shardings: Readonly<Record<Axis, ReadonlyMap<string, Sharding>>>;

  constructor(graph: Graph, numShards: number, cost: PlanningCost, openBatch: boolean) {
    this.#graph = graph;
    this.#cost = cost;
    this.#numShards = numShards;
    this.#openBatch = openBatch;
    this.#statistics = graphStatistics(graph);
    this.#shardings = {
      rows: rowShardings(graph, numShards, openBatch),
      channels: divideByChannels(graph, numShards, openBatch).shardings,
      none: new Map(),
    };
  }

  /** One axis for the first `nodes` nodes, the other for the rest; `none` is computed on the device with shard 0. */
  changeAt(nodes: number, first: Axis, rest: Axis): Candidate {
    const shardings = new Map<string, Sharding>();
    for (const [index, { outputs }] of this.#graph.nodes.entries()) {
      const [output = ''] = outputs;
      const sharding = this.#shardings[index < nodes ? first : rest].get(output);
      if (sharding !== undefined) shardings.set(output, sharding);
    }
    return this.evaluate(shardings, false);
  }

  evaluate(shardings: ReadonlyMap<string, Sharding>, sendFirst: boolean): Candidate {
    const divided = statisticsShardings(this.#statistics, shardings, this.#numShards);
    const division: Division = { numShards: this.#numShards, ...divided, sendFirst };
    return this.#play({ graph: this.#graph, division });
  }

  /** By channels throughout, with partial sums where they are cheaper. */
  cheapestChannels(): Candidate {
    return this.#play(cheapChannels(this.#graph, this.#numShards, this.#cost, this.#openBatch));
  }

  /** One shard on each device. */
  #play(divided: DividedGraph): Candidate {
    const placement = oneShardEach(this.#numShards);
    const room = lower(divided.graph, divided.division, placement);
    const memory = memoryShare(room, this.#cost.memoryBytes);
    return { ...divided, room, ms: simulate(room, this.#cost).totalMs, memory };
  }

  /** The change of axis with the shortest run, found coarsely and then around the best point. */
  bestChange(first: Axis, rest: Axis): Change {
    const last = this.#graph.nodes.length;
    const tried = new Map<number, Candidate>();
    const attempt = (nodes: number) => {
      const at = Math.min(last, Math.max(0, Math.round(nodes)));
      if (!tried.has(at)) tried.set(at, this.changeAt(at, first, rest));
    };
    const best = () => [...tried].reduce((a, b) => (isBetter(b[1], a[1]) ? b : a));
    const step = last / coarsePoints;
    for (let i = 0; i <= coarsePoints; i++) attempt(i * step);
    for (let width = step / 2; width >= 1; width /= 2) {
      const [at] = best();
      attempt(at - width);
      attempt(at + width);
    }
    const [nodes, candidate] = best();
    return { ...candidate, nodes, first, rest };
  }

  /** Gives up owners of exchanged values one by one where computing them twice is faster than exchanging them. */
  recompute(start: Candidate): Candidate & { readonly recomputed: number } {
    let best = start;
    let recomputed = 0;
    const exchanged = new Set(start.room.programs.flatMap(({ sends }) => sends.map(({ value }) => value)));
    for (const value of exchanged) {
      const { rows } = this.#shardings;
      if (!rows.has(value) || best.division.shardings.get(value) !== rows.get(value)) continue;
      const shardings = new Map([...best.division.shardings].filter(([name]) => name !== value));
      const candidate = this.evaluate(shardings, false);
      if (!isBetter(candidate, best, worthwhile)) continue;
      best = candidate;
      recomputed++;
    }
    return { ...best, recomputed };
  }

  /** Halos recomputed, and what is sent made first, where that pays. */
  refine(start: Change): Change & { readonly recomputed: number } {
    const recomputed = this.recompute(start);
    const early = this.sendFirst(recomputed);
    return { ...start, ...recomputed, ...(isBetter(early, recomputed, worthwhile) ? early : {}) };
  }

  sendFirst(start: Candidate): Candidate {
    return this.evaluate(start.division.shardings, true);
  }
}

export interface PlanningCost extends RoomCost {
  /** Bytes of each device's heap. */
  readonly memoryBytes?: MemoryLimits;
}

/**
 * `cost.devices` gives one cost for each shard; `sums`: whether partial sums may travel instead of features. Throws
 * MEMORY_LIMIT where no division fits.
 */
export function chooseDivision(
  graph: Graph,
  numShards: number,
  cost: PlanningCost,
  openBatch: boolean,
  sums = true,
): ChosenDivision {
  const search = new Search(graph, numShards, cost, openBatch);
  const alone = lower(graph, { numShards, shardings: new Map() }, allOnOne(numShards));
  const one = simulate(alone, cost).totalMs;
  const rows = search.changeAt(graph.nodes.length, 'rows', 'none');
  // As `--axis rows` makes them.
  const early = search.sendFirst(rows);
  const channels = sums ? search.cheapestChannels() : search.changeAt(0, 'none', 'channels');
  const change = changes
    .map(([first, rest]) => search.bestChange(first, rest))
    .reduce((best, next) => (isBetter(next, best) ? next : best));
  const throughout: Change = { ...rows, nodes: graph.nodes.length, first: 'rows', rest: 'none' };
  // Strips may be slower than something else only until what is sent is made first.
  const byRows = change.first === 'rows' && change.nodes === throughout.nodes;
  const chosen = (byRows ? [throughout] : [change, throughout])
    .map((start) => search.refine(start))
    .reduce((best, next) => (isBetter(next, best, worthwhile) ? next : best));
  const fits = memoryShare(alone, cost.memoryBytes) <= 1;
  const aloneReason = fits ? 'one device alone is faster' : 'one device alone has not the memory';
  if (sums && isBetter(channels, chosen, worthwhile)) {
    checkMemoryLimits(channels.room, cost.memoryBytes);
    return {
      graph: channels.graph,
      division: channels.division,
      predictedMs: { one, channels: channels.ms, rows: early.ms, auto: channels.ms },
      reason: `Throughout by channels, with partial sums${channels.ms > one ? `; ${aloneReason}` : ''}.`,
    };
  }
  checkMemoryLimits(chosen.room, cost.memoryBytes);
  const reasons = [
    axisReason(chosen, graph.nodes.length),
    ...(chosen.recomputed > 0 ? [`${chosen.recomputed} halos recomputed instead of exchanged`] : []),
    ...(chosen.division.sendFirst === true ? ['what is sent is made first'] : []),
    ...(chosen.ms > one ? [aloneReason] : []),
  ];
  return {
    graph: chosen.graph,
    division: chosen.division,
    predictedMs: { one, channels: channels.ms, rows: early.ms, auto: chosen.ms },
    reason: `${reasons.join('; ')}.`,
  };
}

const axisNames: Readonly<Record<Axis, string>> = {
  rows: 'by rows',
  channels: 'by channels',
  none: 'on one device',
};

function axisReason({ nodes, first, rest }: Change, all: number): string {
  if (nodes === 0 || nodes >= all) return `Throughout ${axisNames[nodes === 0 ? rest : first]}`;
  return `The first ${nodes} of ${all} nodes ${axisNames[first]}, the others ${axisNames[rest]}`;
}
