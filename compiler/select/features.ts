/**
 * What could be exchanged: which owned feature each input channel of a contraction is, followed back through operators
 * that only move data to the value that is really sent. Decides nothing.
 */
import type { Graph } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { size, toIndices } from '../../graph/ranges.ts';
import type { Division } from '../../runtime/lower/program.ts';
import type { Contraction } from '../calibrate/contractions.ts';

export interface Feature {
  /** The value that is divided, and so sent. */
  readonly value: string;
  readonly channel: number;
  readonly owner: number;
}

/**
 * - a feature: one shard owns it, others must be sent it;
 * - 'everywhere': a graph's input, padding, or something that every shard computes for itself.
 */
export type Source = Feature | 'everywhere';

/** For each contraction, the source of each of its input channels. */
export function featureSources(
  graph: Graph,
  division: Division,
  contractions: readonly Contraction[],
): ReadonlyMap<Contraction, readonly Source[]> {
  const values = shapedValues(graph);
  const producers = new Map(
    graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node] as const)),
  );
  const owners = new Map<string, readonly number[]>();
  const ownersOf = (value: string): readonly number[] => {
    const known = owners.get(value);
    if (known !== undefined) return known;
    const list: number[] = [];
    division.shardings.get(value)?.parts.forEach((ranges, shard) => {
      for (const index of toIndices(ranges)) list[index] = shard;
    });
    owners.set(value, list);
    return list;
  };
  const follow = (value: string, axis: number, channel: number): Source => {
    const sharding = division.shardings.get(value);
    if (sharding !== undefined) {
      if (sharding.axis !== axis) return 'everywhere';
      return { value, channel, owner: ownersOf(value)[channel] ?? 0 };
    }
    const node = producers.get(value);
    const rule = node === undefined ? undefined : ruleOf(node);
    if (node === undefined || rule === undefined) return 'everywhere';
    const needs = rule.needs(viewNode(graph, values, node), { axis, ranges: [[channel, channel + 1]] }) ?? [];
    const read = needs.flatMap((need, i) =>
      typeof need === 'object' && need.shapeOnly !== true && size(need.ranges) === 1
        ? [{ input: node.inputs[i] ?? '', axis: need.axis, channel: need.ranges[0]?.[0] ?? 0 }]
        : [],
    );
    const [only] = read;
    return only === undefined || read.length > 1 ? 'everywhere' : follow(only.input, only.axis, only.channel);
  };
  return new Map(
    contractions.map((contraction) => [
      contraction,
      Array.from({ length: contraction.inputChannels }, (_, channel) =>
        follow(contraction.input, contraction.inputAxis, channel),
      ),
    ]),
  );
}
