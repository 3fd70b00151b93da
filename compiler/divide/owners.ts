/** Who owns each index along an axis of a value, also where it is made of values with owners that are only moved. */
import type { Graph } from '../../graph/graph.ts';
import { type ShapedValue, viewNode } from '../../graph/nodeView.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { fromIndices, type Ranges, range, size, toIndices } from '../../graph/ranges.ts';
import type { Sharding } from '../../runtime/lower/program.ts';

/** For each index along an axis: its owner, `anyone` where every shard makes it itself, `several` where it is in pieces. */
export type Owners = readonly (number | 'anyone' | 'several')[];

/** The longest block, a divisor of `longest`, that is made of one index: the axis may be of several, in turns. */
function largestBlock(longest: number, isOfOne: (end: number) => boolean): number {
  for (let parts = 1; parts < longest; parts++) {
    if (longest % parts === 0 && isOfOne(longest / parts)) return longest / parts;
  }
  return 1;
}

/** Shard -> the indices it owns; undefined unless each has one owner. */
export function partsByOwner(owners: Owners, numShards: number): readonly Ranges[] | undefined {
  if (owners.some((owner) => typeof owner !== 'number')) return undefined;
  return Array.from({ length: numShards }, (_, shard) =>
    fromIndices(owners.flatMap((owner, index) => (owner === shard ? [index] : []))),
  );
}

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
    const block = largestBlock(Math.max(1, ...blocks), (end) => {
      const needs = rule.needs(view, { axis, ranges: range(0, end) }) ?? [];
      return needs.some((need) => typeof need === 'object' && size(need.ranges) === 1);
    });
    return Array.from({ length: length / block }, (_, i) => i * block).flatMap((start) =>
      Array<Owners[number]>(block).fill(ownerOf(start, start + block)),
    );
  };
  return find;
}
