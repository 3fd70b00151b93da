/**
 * What can be chosen in a division by channels, the division that choices amount to, and what it costs. Chooses nothing:
 * that is cheapChannels.ts.
 */
import type { Graph } from '../../graph/graph.ts';
import type { StatisticsNode } from '../../graph/ops/statistics/table.ts';
import type { Ranges } from '../../graph/ranges.ts';
import { tensorBytes } from '../../graph/tensor.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division, Placement } from '../../runtime/lower/program.ts';
import type { RoomCost } from '../../runtime/predict/simulate.ts';
import { type Region, type RegionContraction, regionsOf } from './channelRegions.ts';
import { divideByChannels } from './divideChannels.ts';
import { divisionMs } from './divisionCost.ts';
import { type Axes, channelAxes } from './followAxes.ts';
import { ownersAlong, partsByOwner } from './owners.ts';
import { type GraphStatistics, graphStatistics, statisticsShardings } from './statisticsShardings.ts';

/** Multiply-accumulates that shards may do over again, as a share of the model's: weights and work are to be divided. */
const mostRecomputed = 0.05;

export interface Choices {
  /** Regions whose values every shard holds whole. */
  readonly whole: ReadonlySet<Region>;
  /** Outputs of contractions of which partial sums travel, where their input has owners. */
  readonly summed: ReadonlySet<string>;
  /** Outputs of contractions that every shard computes. */
  readonly recomputed: ReadonlySet<string>;
  /** Nodes that read all features although they could exchange statistics. */
  readonly gathered: ReadonlySet<string>;
}

export const noChoices: Choices = {
  whole: new Set(),
  summed: new Set(),
  recomputed: new Set(),
  gathered: new Set(),
};

export class ChannelSearch {
  readonly regions: readonly Region[];
  readonly plain: Division;
  readonly placement: Placement;
  readonly #graph: Graph;
  readonly #found: GraphStatistics;
  readonly #axes: Axes;
  readonly #cost: RoomCost;
  readonly #contractions: readonly RegionContraction[];
  readonly #macs: number;
  /** Contractions that read a value's features. */
  readonly #readers = new Map<string, RegionContraction[]>();

  /** `statistics`: whether operators may exchange them. */
  constructor(graph: Graph, numShards: number, cost: RoomCost, openBatch: boolean, statistics: boolean) {
    this.#graph = graph;
    this.#cost = cost;
    this.#axes = channelAxes(graph, openBatch, statistics);
    this.plain = divideByChannels(graph, numShards, openBatch, statistics);
    this.#found = statistics ? graphStatistics(graph) : { graph, values: this.#axes.values, nodes: [] };
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

  get statistics(): readonly StatisticsNode[] {
    return this.#found.nodes;
  }

  division({ whole, summed, recomputed, gathered }: Choices): Division {
    const owned = new Map(this.plain.shardings);
    const partials = new Map<string, readonly Ranges[]>();
    const contractions = this.regions.flatMap((region) =>
      region.contractions.map((one) => [region, one] as const),
    );
    for (const region of whole) {
      const gathered = new Set(region.contractions.map(({ output }) => output));
      for (const value of region.values) if (!gathered.has(value)) owned.delete(value);
    }
    for (const output of recomputed) owned.delete(output);
    const { numShards } = this.plain;
    const exchanging = statisticsShardings(this.#found, owned, numShards, gathered);
    const { statistics } = exchanging;
    const shardings = new Map(exchanging.shardings);
    const owners = ownersAlong(this.#graph, this.#axes.values, shardings);
    for (const [region, contraction] of contractions) {
      if (!summed.has(contraction.output)) continue;
      const parts = this.#parts(contraction, owners);
      if (parts === undefined) continue;
      partials.set(contraction.node.name, parts);
      if (whole.has(region)) shardings.delete(contraction.output);
    }
    return {
      numShards,
      shardings,
      ...(partials.size === 0 ? {} : { partials }),
      ...(statistics.size === 0 ? {} : { statistics }),
    };
  }

  /** The features that each shard sums; undefined where they have no owners. */
  #parts(
    { input, inputAxis }: RegionContraction,
    ownersOf: ReturnType<typeof ownersAlong>,
  ): readonly Ranges[] | undefined {
    return partsByOwner(ownersOf(input, inputAxis), this.plain.numShards);
  }

  /**
   * Milliseconds that exchanging statistics may save at the very best: the features that would not be gathered. Those that a
   * contraction gathers of the result anyway save nothing.
   */
  mostSavedMs(): number {
    const { statistics } = this.division(noChoices);
    const bytes = this.statistics.map(({ node, statistics: { pointwise } }) => {
      const [input = '', output = ''] = [node.inputs[0], node.outputs[0]];
      const gatheredAnyway = (this.#readers.get(output) ?? []).some((reader) => !this.maySum(reader));
      const saves = statistics?.has(node.name) === true && !(pointwise && gatheredAnyway);
      return saves ? this.#bytes(input) : 0;
    });
    return bytes.reduce((sum, one) => sum + one, 0) / this.#cost.link.bytesPerMs;
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
