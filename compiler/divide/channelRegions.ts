/**
 * Regions of a graph divided by channels: values that operators without exchange tie together, and what is contracted into
 * each. Looks only; decides nothing.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { range } from '../../graph/ranges.ts';
import { contractedAlong } from '../../runtime/lower/partials.ts';
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
  // Without their statistics some operators read all of their input.
  for (const { node, rule, view, axis } of computing) {
    if (rule.needs(view, { axis, ranges: range(0, view.outputShape[axis] ?? 0) }) !== undefined) continue;
    for (const source of node.inputs.flatMap(movedFrom)) whole.add(source);
  }
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
