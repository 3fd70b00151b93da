/**
 * Regions of a graph divided by channels: values that operators without exchange tie together, what is contracted into
 * each, and who owns the features that a contraction sums. Looks only; decides nothing.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import { type ShapedValue, viewNode } from '../../graph/nodeView.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { range, toIndices } from '../../graph/ranges.ts';
import { contractedAlong } from '../../runtime/lower/partials.ts';
import type { Sharding } from '../../runtime/lower/program.ts';
import type { Axes } from './followAxes.ts';
import { UnionFind } from './unionFind.ts';

/** A contraction with constant weights: any of its outputs needs all features of one input. */
export interface RegionContraction {
  readonly node: Node;
  readonly output: string;
  readonly input: string;
  /** The input's axis that is summed over, and its length. */
  readonly inputAxis: number;
  readonly features: number;
  /** Values with owners that the input's features come from. */
  readonly sources: readonly string[];
  readonly macs: number;
}

export interface Region {
  /** Outputs of operators that compute, in topological order. */
  readonly values: readonly string[];
  /** What is contracted into the region. */
  readonly contractions: readonly RegionContraction[];
  /** Whether an operator that is not divided reads some of it whole. */
  readonly readWhole: boolean;
  /** Multiply-accumulates within the region: depthwise convolutions, attention. */
  readonly innerMacs: number;
}

/** The values behind one: through those that `passes` says only hand on what they read. */
function sourceFinder(graph: Graph, passes: (node: Node) => boolean): (value: string) => readonly string[] {
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
  const known = new Map<string, readonly string[]>();
  const find = (value: string): readonly string[] => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const node = producers.get(value);
    const sources = node !== undefined && passes(node) ? [...new Set(node.inputs.flatMap(find))] : [value];
    known.set(value, sources);
    return sources;
  };
  return find;
}

export function regionsOf(graph: Graph, { nodes, values }: Axes): readonly Region[] {
  const computing = nodes.filter(({ rule }) => rule.kind !== 'structural');
  const ids = new Map(computing.map(({ output }, id) => [output, id]));
  const movedFrom = sourceFinder(graph, (node) => ruleOf(node)?.kind === 'structural');
  // What has no owner is made of the whole values behind it.
  const madeFrom = sourceFinder(graph, (node) => !ids.has(node.outputs[0] ?? ''));
  const innerMacs = new Map<string, number>();
  const ties = new UnionFind();
  const contractions = new Map<string, RegionContraction>();
  for (const { output } of computing) if (ids.has(output)) ties.add();
  for (const { node, output, rule, view } of computing) {
    const along = contractedAlong(graph, values, node);
    const input = node.inputs[along?.input ?? 0] ?? '';
    if (along !== undefined) {
      const { inputAxis, features } = along;
      const sources = madeFrom(input).filter((source) => ids.has(source));
      contractions.set(output, {
        node,
        output,
        input,
        inputAxis,
        features,
        sources,
        macs: rule.macs?.(view) ?? 0,
      });
      continue;
    }
    innerMacs.set(output, rule.macs?.(view) ?? 0);
    for (const source of node.inputs.flatMap(movedFrom)) {
      const [mine, theirs] = [ids.get(output), ids.get(source)];
      if (mine !== undefined && theirs !== undefined) ties.union(mine, theirs);
    }
  }
  const whole = new Set(
    graph.nodes
      .filter((node) => ruleOf(node)?.kind !== 'structural' && !ids.has(node.outputs[0] ?? ''))
      .flatMap(({ inputs }) => inputs.flatMap(movedFrom)),
  );
  const groups = new Map<number, string[]>();
  for (const [output, id] of ids) {
    const root = ties.find(id);
    groups.set(root, [...(groups.get(root) ?? []), output]);
  }
  return [...groups.values()].map((list) => ({
    values: list,
    contractions: list.flatMap((value) => contractions.get(value) ?? []),
    readWhole: list.some((value) => whole.has(value)),
    innerMacs: list.reduce((sum, value) => sum + (innerMacs.get(value) ?? 0), 0),
  }));
}

/** For each index along an axis: its owner, `anyone` where every shard makes it itself, `several` where it is in pieces. */
export type Owners = readonly (number | 'anyone' | 'several')[];

export function ownersAlong(
  graph: Graph,
  values: ReadonlyMap<string, ShapedValue>,
  shardings: ReadonlyMap<string, Sharding>,
): (value: string, axis: number) => Owners {
  const producers = new Map(graph.nodes.flatMap((node) => node.outputs.map((output) => [output, node])));
  const known = new Map<string, Owners>();
  const find = (value: string, axis: number): Owners => {
    const key = `${axis} ${value}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    const owners = compute(value, axis);
    known.set(key, owners);
    return owners;
  };
  const compute = (value: string, axis: number): Owners => {
    const length = values.get(value)?.shape[axis] ?? 0;
    const sharding = shardings.get(value);
    if (sharding !== undefined) {
      if (sharding.axis !== axis) return Array<'several'>(length).fill('several');
      const owners = Array<number | 'several'>(length).fill('several');
      for (const [shard, part] of sharding.parts.entries())
        for (const i of toIndices(part)) owners[i] = shard;
      return owners;
    }
    const node = producers.get(value);
    const rule = node === undefined ? undefined : ruleOf(node);
    if (node === undefined || rule?.kind !== 'structural') return Array<'anyone'>(length).fill('anyone');
    const view = viewNode(graph, values, node);
    const ownerOf = (start: number, end: number) => {
      const owners = new Set<Owners[number]>();
      for (const [i, need] of (rule.needs(view, { axis, ranges: range(start, end) }) ?? []).entries()) {
        if (need === 'whole') return 'several';
        if (need === 'none') continue;
        const source = find(node.inputs[i] ?? '', need.axis);
        for (const at of toIndices(need.ranges)) owners.add(source[at] ?? 'several');
      }
      owners.delete('anyone');
      const [only, ...others] = owners;
      return others.length > 0 ? 'several' : (only ?? 'anyone');
    };
    // A longer axis that an input's axis is a factor of comes in blocks, one for each of its indices (heads).
    const whole = rule.needs(view, { axis, ranges: range(0, length) }) ?? [];
    const blocks = whole.flatMap((need, i) => {
      const block =
        typeof need === 'object' ? length / (values.get(node.inputs[i] ?? '')?.shape[need.axis] ?? 1) : 1;
      return Number.isInteger(block) ? [block] : [];
    });
    const block = Math.max(1, ...blocks);
    return Array.from({ length: length / block }, (_, i) => i * block).flatMap((start) =>
      Array<Owners[number]>(block).fill(ownerOf(start, start + block)),
    );
  };
  return find;
}
