/**
 * Contractions that are divided along what they sum over: each device sums the input features that its shards own,
 * and the partial sums, ordinary values of one owner each, are added wherever the result is needed.
 */
import type { Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { type ShapedValue, shapedValues, viewNode } from '../../graph/nodeView.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { type Ranges, range, size, union } from '../../graph/ranges.ts';
import type { Division, Placement, Sharding } from './program.ts';

/** Inputs that are added once, whatever is summed: one of the partial sums takes them along. */
const addedOnce: Readonly<Record<string, number>> = { Conv: 2, ConvTranspose: 2, Gemm: 2 };

export interface Summand {
  readonly device: number;
  /** One of the device's shards; it owns the whole partial sum. */
  readonly owner: number;
  readonly features: Ranges;
}

/** One for each device whose shards own features; shards of one device sum together. */
export function summandsOf(parts: readonly Ranges[], placement: Placement): Summand[] {
  return placement.flatMap((shards, device): Summand[] => {
    const features = union(...shards.map((shard) => parts[shard] ?? []));
    const [owner] = shards;
    return owner === undefined || features.length === 0 ? [] : [{ device, owner, features }];
  });
}

export interface Contracted {
  /** Of the output. */
  readonly axis: number;
  /** Index of the input whose features are summed, their axis and their number. */
  readonly input: number;
  readonly inputAxis: number;
  readonly features: number;
}

/** The axis of a contraction's output along which a part wants its summed features in any order. */
export function contractedAlong(
  graph: Graph,
  values: ReadonlyMap<string, ShapedValue>,
  node: Node,
): Contracted | undefined {
  const rule = ruleOf(node);
  if (rule?.kind !== 'contraction') return undefined;
  const view = viewNode(graph, values, node);
  for (const [axis, length] of view.outputShape.entries()) {
    const needs = rule.needs(view, { axis, ranges: range(0, length) }) ?? [];
    const input = needs.findIndex((need) => typeof need === 'object' && need.anyOrder === true);
    const need = needs[input];
    if (typeof need === 'object') return { axis, input, inputAxis: need.axis, features: size(need.ranges) };
  }
  return undefined;
}

/** The graph and division that a placement lowers: without `partials`, which have become nodes. */
export function expandPartials(
  graph: Graph,
  division: Division,
  placement: Placement,
): { readonly graph: Graph; readonly division: Division } {
  const { partials = new Map<string, readonly Ranges[]>(), ...rest } = division;
  if (partials.size === 0) return { graph, division: rest };
  const known = shapedValues(graph);
  const values = new Map(graph.values);
  const shardings = new Map(division.shardings);
  const supports = new Map(division.supports);
  const expand = (node: Node): readonly Node[] => {
    const parts = partials.get(node.name);
    const along = parts === undefined ? undefined : contractedAlong(graph, known, node);
    const summands = summandsOf(parts ?? [], placement);
    const [output = ''] = node.outputs;
    const value = known.get(output);
    // Where all features lie on one device, it makes the whole.
    if (along === undefined || value === undefined || summands.length < 2) return [node];
    const names = summands.map(({ device }) => `${output}/partial${device}`);
    const sums = summands.map(({ owner, features }, i): Node => {
      const name = `${node.name}/partial${summands[i]?.device}`;
      const partial = names[i] ?? '';
      values.set(partial, { name: partial, ...value } satisfies ValueInfo);
      const all = range(0, value.shape[along.axis] ?? 1);
      const owned = Array.from({ length: division.numShards }, (_, s) => (s === owner ? all : []));
      shardings.set(partial, { axis: along.axis, parts: owned } satisfies Sharding);
      supports.set(name, Array<Ranges>(division.numShards).fill(features));
      const once = i === 0 ? -1 : (addedOnce[node.opType] ?? -1);
      return { ...node, name, inputs: node.inputs.filter((_, input) => input !== once), outputs: [partial] };
    });
    const attributes = new Map();
    return [
      ...sums,
      { name: node.name, opType: 'Sum', domain: '', inputs: names, outputs: [output], attributes },
    ];
  };
  const nodes = graph.nodes.flatMap(expand);
  return { graph: { ...graph, nodes, values }, division: { ...rest, shardings, supports } };
}
