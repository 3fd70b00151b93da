/**
 * Channel spaces: channels of different values that must have the same owner so that the operators between
 * them need no exchange (element-wise operators, depthwise convolutions, residual additions, shortcuts that
 * slice and pad). Found channel by channel with a union-find, so that any mapping of indices is honoured.
 */
import { range, toIndices } from '../../graph/ranges.ts';
import type { Axes, DividableNode } from './followAxes.ts';
import { UnionFind } from './unionFind.ts';

/** Classes of tied channels: class of channel c of a value is `classes.get(value)[c]`. */
export type ChannelClasses = ReadonlyMap<string, readonly number[]>;

/** For each output channel, the channels of each divided input that it needs; undefined where a tie would be too coarse. */
function tiesOf(
  dividable: DividableNode,
  axes: Axes['axes'],
  numShards: number,
): [number, number, number][] | undefined {
  const { view, axis, node } = dividable;
  const channels = view.outputShape[axis] ?? 0;
  const ties: [number, number, number][] = [];
  const groups = new UnionFind();
  const firstReader = new Map<string, number>();
  for (let channel = 0; channel < channels; channel++) groups.add();
  for (let channel = 0; channel < channels; channel++) {
    const needs = dividable.needs({ axis, ranges: range(channel, channel + 1) }) ?? [];
    for (const [input, need] of needs.entries()) {
      if (typeof need !== 'object' || axes.get(node.inputs[input] ?? '') !== need.axis) continue;
      // An operator that can take everything in any order mixes all channels: it ties none.
      if (need.anyOrder === true) return undefined;
      if (need.shapeOnly === true) continue;
      for (const source of toIndices(need.ranges)) {
        ties.push([channel, input, source]);
        const reader = firstReader.get(`${input} ${source}`);
        if (reader === undefined) firstReader.set(`${input} ${source}`, channel);
        else groups.union(reader, channel);
      }
    }
  }
  const groupCount = new Set(Array.from({ length: channels }, (_, channel) => groups.find(channel))).size;
  // Few large groups cannot be spread evenly: then the value is divided freely and its inputs are exchanged.
  const coarse = groupCount < channels && groupCount % numShards !== 0 && groupCount < 4 * numShards;
  return coarse ? undefined : ties;
}

export function channelClasses({ axes, nodes, values }: Axes, numShards: number): ChannelClasses {
  const classes = new UnionFind();
  const elements = new Map<string, number[]>();
  for (const [value, axis] of axes) {
    const length = values.get(value)?.shape[axis] ?? 0;
    elements.set(
      value,
      Array.from({ length }, () => classes.add()),
    );
  }
  for (const dividable of nodes) {
    const outputs = elements.get(dividable.output) ?? [];
    for (const [channel, input, source] of tiesOf(dividable, axes, numShards) ?? []) {
      const mine = outputs[channel];
      const theirs = elements.get(dividable.node.inputs[input] ?? '')?.[source];
      if (mine !== undefined && theirs !== undefined) classes.union(mine, theirs);
    }
  }
  return new Map([...elements].map(([value, list]) => [value, list.map((element) => classes.find(element))]));
}
