/**
 * A division by channels in which partial sums travel instead of features, values are held whole by every shard, and
 * small contractions are computed by all, wherever that costs less: bytes, rounds and arithmetic taken together.
 * Two layers then share a round: the first divided along its outputs, the second along its inputs.
 */

import type { Graph } from '../../graph/graph.ts';
import { fromIndices, type Ranges } from '../../graph/ranges.ts';
import { tensorBytes } from '../../graph/tensor.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division, Placement, Sharding } from '../../runtime/lower/program.ts';
import { type RoomCost, simulate } from '../../runtime/predict/simulate.ts';
import { ownersAlong, type Region, type RegionContraction, regionsOf } from './channelRegions.ts';
import { divideByChannels } from './divideChannels.ts';
import type { DividedGraph } from './dividedGraph.ts';
import { divisionMs } from './divisionCost.ts';
import { type Axes, channelAxes } from './followAxes.ts';

/** A change must save at least this share. */
const worthwhile = 0.998;

/** Multiply-accumulates that shards may do over again, as a share of the model's: weights and work are to be divided. */
const mostRecomputed = 0.05;

interface Choices {
  /** Regions whose values every shard holds whole. */
  readonly whole: ReadonlySet<Region>;
  /** Outputs of contractions of which partial sums travel, where their input has owners. */
  readonly summed: ReadonlySet<string>;
  /** Outputs of contractions that every shard computes. */
  readonly recomputed: ReadonlySet<string>;
}

const nothing: Choices = { whole: new Set(), summed: new Set(), recomputed: new Set() };

class ChannelSearch {
  readonly regions: readonly Region[];
  readonly plain: Division;
  readonly placement: Placement;
  readonly #graph: Graph;
  readonly #axes: Axes;
  readonly #cost: RoomCost;
  readonly #contractions: readonly RegionContraction[];
  readonly #macs: number;
  /** Contractions that read a value's features. */
  readonly #readers = new Map<string, RegionContraction[]>();

  constructor(graph: Graph, numShards: number, cost: RoomCost, openBatch: boolean) {
    this.#graph = graph;
    this.#cost = cost;
    this.#axes = channelAxes(graph, openBatch);
    this.plain = divideByChannels(graph, numShards, openBatch);
    this.regions = regionsOf(graph, this.#axes);
    this.placement = oneShardEach(numShards);
    this.#contractions = this.regions.flatMap(({ contractions }) => contractions);
    const inner = this.regions.reduce((sum, { innerMacs }) => sum + innerMacs, 0);
    this.#macs = this.#contractions.reduce((sum, { macs }) => sum + macs, inner);
    for (const contraction of this.#contractions) {
      for (const source of contraction.sources) {
        this.#readers.set(source, [...(this.#readers.get(source) ?? []), contraction]);
      }
    }
  }

  division({ whole, summed, recomputed }: Choices): Division {
    const shardings = new Map(this.plain.shardings);
    const partials = new Map<string, readonly Ranges[]>();
    const contractions = this.regions.flatMap((region) =>
      region.contractions.map((one) => [region, one] as const),
    );
    for (const region of whole) {
      const gathered = new Set(region.contractions.map(({ output }) => output));
      for (const value of region.values) if (!gathered.has(value)) shardings.delete(value);
    }
    for (const output of recomputed) shardings.delete(output);
    const owners = ownersAlong(this.#graph, this.#axes.values, shardings);
    for (const [region, contraction] of contractions) {
      if (!summed.has(contraction.output)) continue;
      const parts = this.#parts(contraction, owners);
      if (parts === undefined) continue;
      partials.set(contraction.node.name, parts);
      if (whole.has(region)) shardings.delete(contraction.output);
    }
    return { numShards: this.plain.numShards, shardings, ...(partials.size === 0 ? {} : { partials }) };
  }

  /** The features that each shard sums; undefined where they have no owners. */
  #parts(
    { input, inputAxis }: RegionContraction,
    ownersOf: ReturnType<typeof ownersAlong>,
  ): readonly Ranges[] | undefined {
    const owners = ownersOf(input, inputAxis);
    const { numShards } = this.plain;
    if (owners.some((owner) => typeof owner !== 'number')) return undefined;
    return Array.from({ length: numShards }, (_, shard) =>
      fromIndices(owners.flatMap((owner, index) => (owner === shard ? [index] : []))),
    );
  }

  /** Infinite where too much would be computed everywhere. */
  ms(choices: Choices): number {
    const again = this.#recomputedMacs(choices) * (this.plain.numShards - 1);
    if (again > mostRecomputed * this.#macs) return Number.POSITIVE_INFINITY;
    return divisionMs(this.#graph, this.division(choices), this.placement, this.#cost);
  }

  #recomputedMacs({ whole, recomputed }: Choices): number {
    const inner = [...whole].reduce((sum, region) => sum + region.innerMacs, 0);
    return this.#contractions
      .filter(({ output }) => recomputed.has(output))
      .reduce((sum, { macs }) => sum + macs, inner);
  }

  #bytes(value: string): number {
    const { dataType, shape } = this.#axes.values.get(value) ?? { dataType: 'float32', shape: [] };
    return tensorBytes({ dataType, dims: shape });
  }

  /** Whether only float sums can be told from their parts. */
  canSum({ output }: RegionContraction): boolean {
    return this.#axes.values.get(output)?.dataType === 'float32';
  }

  /** Bytes that a round is worth on this link. */
  get #roundBytes(): number {
    const { messageMs, roundTripMs, bytesPerMs } = this.#cost.link;
    return (messageMs + roundTripMs / 2 + (this.#cost.devices[0]?.stageMs ?? 0)) * bytesPerMs;
  }

  /** Bytes that would no longer travel between two shards if these contractions were summed. */
  #spared(contractions: readonly RegionContraction[]): number {
    const sources = new Set(contractions.flatMap((contraction) => contraction.sources));
    const all = (source: string) =>
      (this.#readers.get(source) ?? []).every((reader) => contractions.includes(reader));
    return [...sources].filter(all).reduce((sum, source) => sum + this.#bytes(source), 0);
  }

  /** Whether holding a region whole could pay, at the very best. */
  mayHoldWhole({ values, contractions, readWhole }: Region): boolean {
    const read = values.filter((value) => readWhole || this.#readers.has(value));
    const { numShards } = this.plain;
    const sums = contractions.reduce((sum, { output }) => sum + numShards * this.#bytes(output), 0);
    const features = read.reduce((sum, value) => sum + this.#bytes(value), 0);
    const rounds = contractions.length + 1;
    return read.length > 0 && sums - features - this.#spared(contractions) < rounds * this.#roundBytes;
  }

  mayRecompute({ contractions }: Region): boolean {
    const macs = contractions.reduce((sum, contraction) => sum + contraction.macs, 0);
    const ms = macs / (this.#cost.devices[0]?.macsPerMs ?? 1);
    return (
      contractions.length > 0 && ms * this.#cost.link.bytesPerMs < contractions.length * this.#roundBytes
    );
  }

  maySum(contraction: RegionContraction): boolean {
    return this.canSum(contraction) && this.#bytes(contraction.output) < this.#spared([contraction]);
  }
}

function without(all: ReadonlySet<string>, some: readonly string[]): ReadonlySet<string> {
  return new Set([...all].filter((one) => !some.includes(one)));
}

/** Tries each region and then each contraction once, in the order of the graph. */
function improved(search: ChannelSearch): Choices {
  let best = nothing;
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
  return best;
}

/** `cost.devices` gives one cost for each shard, or one for all. */
export function cheapChannels(
  graph: Graph,
  numShards: number,
  cost: RoomCost,
  openBatch: boolean,
): DividedGraph {
  const search = new ChannelSearch(graph, numShards, cost, openBatch);
  const { plain, placement } = search;
  if (numShards === 1) return { graph, division: plain };
  const choices = improved(search);
  const division = search.division(choices);
  const ms = (candidate: Division) => simulate(lower(graph, candidate, placement), cost).totalMs;
  // What was estimated is played before it is taken.
  if (choices === nothing || ms(division) >= ms(plain)) return { graph, division: plain };
  const given = (value: string, sharding: Sharding) => division.shardings.get(value) === sharding;
  const heldWhole = [...plain.shardings].flatMap(([value, sharding]) =>
    given(value, sharding) ? [] : [value],
  );
  return { graph, division, heldWhole: new Set(heldWhole) };
}
