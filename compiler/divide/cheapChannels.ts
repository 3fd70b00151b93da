/**
 * A division by channels in which partial sums and statistics travel instead of features, values are held whole by every
 * shard, and small contractions are computed by all, wherever that costs less: bytes, rounds and arithmetic taken together.
 * Two layers then share a round: the first divided along its outputs, the second along its inputs.
 */
import type { Graph } from '../../graph/graph.ts';
import { lower } from '../../runtime/lower/lower.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';
import { type RoomCost, simulate } from '../../runtime/predict/simulate.ts';
import { ChannelSearch, type Choices, noChoices } from './channelSearch.ts';
import type { DividedGraph } from './dividedGraph.ts';

/** A change must save at least this share. */
const worthwhile = 0.998;
/** Exchanging statistics must save at least this share of a run: they are rounds more, and it is searched once more. */
const leastSaved = 0.01;

function without(all: ReadonlySet<string>, some: readonly string[]): ReadonlySet<string> {
  return new Set([...all].filter((one) => !some.includes(one)));
}

/** Choices that are tried one after the other, each kept where it saves something. */
class Attempts {
  best = noChoices;
  readonly #search: ChannelSearch;
  #least: number;

  constructor(search: ChannelSearch) {
    this.#search = search;
    this.#least = search.ms(noChoices);
  }

  #attempt(choices: Choices): void {
    const ms = this.#search.ms(choices);
    if (ms >= this.#least * worthwhile) return;
    this.best = choices;
    this.#least = ms;
  }

  regions(): void {
    for (const region of this.#search.regions) {
      const outputs = region.contractions.map(({ output }) => output);
      const whole = new Set([...this.best.whole, region]);
      const before = this.best;
      const summable = region.contractions.every((one) => this.#search.canSum(one));
      if (summable && this.#search.mayHoldWhole(region)) {
        this.#attempt({ ...before, whole, summed: new Set([...before.summed, ...outputs]) });
      }
      if (this.#search.mayRecompute(region)) {
        this.#attempt({
          ...before,
          whole,
          summed: without(before.summed, outputs),
          recomputed: new Set([...before.recomputed, ...outputs]),
        });
      }
    }
  }

  contractions(): void {
    for (const contraction of this.#search.regions.flatMap(({ contractions }) => contractions)) {
      const { output } = contraction;
      const { summed, recomputed } = this.best;
      if (summed.has(output) || recomputed.has(output) || !this.#search.maySum(contraction)) continue;
      this.#attempt({ ...this.best, summed: new Set([...summed, output]) });
    }
  }

  statistics(): void {
    const { statistics } = this.#search.division(this.best);
    for (const { node } of this.#search.statistics) {
      if (statistics?.has(node.name) !== true) continue;
      this.#attempt({ ...this.best, gathered: new Set([...this.best.gathered, node.name]) });
    }
  }
}

/** Each region, contraction and node with statistics once, in the order of the graph. */
function improved(search: ChannelSearch): Choices {
  const attempts = new Attempts(search);
  // What is normalised by statistics pays only where its features need not be gathered after all.
  if (search.statistics.length > 0) attempts.contractions();
  attempts.regions();
  attempts.contractions();
  attempts.statistics();
  return attempts.best;
}

interface Found extends DividedGraph {
  readonly ms: number;
}

/** The best division that is found with statistics, or without. */
function searched(search: ChannelSearch, graph: Graph, cost: RoomCost): Found {
  const { plain, placement } = search;
  const choices = improved(search);
  // What was estimated is played before it is taken.
  const play = (division: Division) => simulate(lower(graph, division, placement), cost).totalMs;
  const [start, best] = [search.division(noChoices), search.division(choices)];
  const [startMs, ms] = [play(start), choices === noChoices ? Number.POSITIVE_INFINITY : play(best)];
  if (ms >= startMs) return { graph, division: start, ms: startMs };
  const given = (value: string, sharding: Sharding) => best.shardings.get(value) === sharding;
  const heldWhole = [...plain.shardings].flatMap(([value, sharding]) =>
    given(value, sharding) ? [] : [value],
  );
  return { graph, division: best, ms, heldWhole: new Set(heldWhole) };
}

/** `cost.devices` gives one cost for each shard, or one for all. */
export function cheapChannels(
  graph: Graph,
  numShards: number,
  cost: RoomCost,
  openBatch: boolean,
): DividedGraph {
  const gathering = new ChannelSearch(graph, numShards, cost, openBatch, false);
  if (numShards === 1) return { graph, division: gathering.plain };
  const { ms, ...gathered } = searched(gathering, graph, cost);
  const exchanging = new ChannelSearch(graph, numShards, cost, openBatch, true);
  if (exchanging.mostSavedMs() < leastSaved * ms) return gathered;
  const { ms: statisticsMs, ...exchanged } = searched(exchanging, graph, cost);
  return statisticsMs < ms * (1 - leastSaved) ? exchanged : gathered;
}
