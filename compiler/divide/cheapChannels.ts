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

function without(all: ReadonlySet<string>, some: readonly string[]): ReadonlySet<string> {
  return new Set([...all].filter((one) => !some.includes(one)));
}

/** Tries each region, then each contraction, then each node with statistics once, in the order of the graph. */
function improved(search: ChannelSearch): Choices {
  let best = noChoices;
  let least = search.ms(best);
  const attempt = (choices: Choices) => {
    const ms = search.ms(choices);
    if (ms >= least * worthwhile) return;
    best = choices;
    least = ms;
  };
  for (const region of search.regions) {
    const outputs = region.contractions.map(({ output }) => output);
    const whole = new Set([...best.whole, region]);
    const [before, summable] = [best, region.contractions.every((one) => search.canSum(one))];
    if (summable && search.mayHoldWhole(region)) {
      attempt({ ...before, whole, summed: new Set([...before.summed, ...outputs]) });
    }
    if (search.mayRecompute(region)) {
      attempt({
        ...before,
        whole,
        summed: without(before.summed, outputs),
        recomputed: new Set([...before.recomputed, ...outputs]),
      });
    }
  }
  for (const contraction of search.regions.flatMap(({ contractions }) => contractions)) {
    const { output } = contraction;
    if (best.summed.has(output) || best.recomputed.has(output) || !search.maySum(contraction)) continue;
    attempt({ ...best, summed: new Set([...best.summed, output]) });
  }
  for (const { node } of search.statistics) {
    if (search.exchanges(node, best)) attempt({ ...best, gathered: new Set([...best.gathered, node.name]) });
  }
  return best;
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
  if ((exchanging.division(noChoices).statistics?.size ?? 0) === 0) return gathered;
  const { ms: statisticsMs, ...exchanged } = searched(exchanging, graph, cost);
  return statisticsMs < ms * worthwhile ? exchanged : gathered;
}
