/**
 * Puts the channels of a thinned division in an order in which those of an owner lie together, and of them those that are
 * sent, so that sending is one slice and no gather. Channels only change places: no output changes, and what crosses is
 * the same.
 */
import type { Model } from '../../graph/graph.ts';
import { fromIndices, type Ranges, toIndices } from '../../graph/ranges.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { findContractions } from '../calibrate/contractions.ts';
import { type ChannelClasses, channelClasses } from '../divide/channelSpaces.ts';
import { classGroups } from '../divide/divideChannels.ts';
import { channelAxes } from '../divide/followAxes.ts';
import { permutedGraph } from './permutedGraph.ts';
import { type SentSet, togetherOrder } from './togetherOrder.ts';

interface Divided {
  readonly model: Model;
  readonly division: Division;
}

/** `openBatch`: as the division was made. Divisions with partial results or wire types are left as they are. */
export function sentTogether({ model, division }: Divided, openBatch: boolean): Divided {
  const { graph } = model;
  const { supports, partials, statistics, wires } = division;
  if ([partials, statistics, wires].some((some) => (some?.size ?? 0) > 0)) return { model, division };
  const axes = channelAxes(graph, openBatch);
  const classes = channelClasses(axes, division.numShards);
  const byChannels = new Map(
    [...division.shardings].filter(([value, { axis }]) => axes.axes.get(value) === axis),
  );
  const owners = new Map(
    [...byChannels].flatMap(([value, { parts }]) =>
      parts.flatMap((part, shard) =>
        toIndices(part).map((channel) => [classes.get(value)?.[channel] ?? -1, shard] as const),
      ),
    ),
  );
  const sent = sentSets(model, division, classes);
  const moves = new Map<number, number>();
  for (const ids of classGroups(classes)) {
    const shards = [...new Set(ids.map((id) => owners.get(id) ?? -1))].sort((a, b) => a - b);
    const order = shards.flatMap((shard) =>
      togetherOrder(
        ids.filter((id) => (owners.get(id) ?? -1) === shard),
        sent,
      ),
    );
    for (const [i, id] of order.entries()) moves.set(ids[i] ?? id, id);
  }
  const permuted = permutedGraph(graph, { axes, classes, moves });
  if (permuted === undefined) return { model, division };
  const moved = (value: string, parts: readonly Ranges[]) => {
    const places = new Map(permuted.orders.get(value)?.map((old, place) => [old, place]));
    return parts.map((part) => fromIndices(toIndices(part).map((old) => places.get(old) ?? old)));
  };
  const inputs = new Map(findContractions(graph).map(({ node, input }) => [node.name, input]));
  return {
    model: { ...model, graph: permuted.graph },
    division: {
      ...division,
      shardings: new Map(
        [...division.shardings].map(([value, { axis, parts }]) => [
          value,
          { axis, parts: byChannels.has(value) ? moved(value, parts) : parts },
        ]),
      ),
      ...(supports === undefined
        ? {}
        : {
            supports: new Map(
              [...supports].map(([node, parts]) => [node, moved(inputs.get(node) ?? '', parts)]),
            ),
          }),
    },
  };
}

/** What travels with one shard on each device, as classes. */
function sentSets({ graph }: Model, division: Division, classes: ChannelClasses): SentSet[] {
  return lower(graph, division, oneShardEach(division.numShards)).programs.flatMap(({ sends }) =>
    sends.flatMap(({ value, axis, ranges, dims }) => {
      const list = classes.get(value);
      if (list === undefined || division.shardings.get(value)?.axis !== axis) return [];
      const ids = new Set(toIndices(ranges).flatMap((channel) => list[channel] ?? []));
      return [{ ids, bytes: dims.reduce((product, dim) => product * dim, 1) }];
    }),
  );
}
