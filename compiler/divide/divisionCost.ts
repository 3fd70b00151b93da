/**
 * What a division costs, level by level: the slowest device's arithmetic and the most that one link carries. Quicker than
 * lowering and playing it (runtime/predict), and close enough to compare two divisions; overlap is not counted.
 */
import type { Graph } from '../../graph/graph.ts';
import type { Slab } from '../../graph/ops/rule.ts';
import { type Ranges, size } from '../../graph/ranges.ts';
import { elementCount, tensorBytes } from '../../graph/tensor.ts';
import { Demands } from '../../runtime/lower/demand.ts';
import { expandDivision } from '../../runtime/lower/expandDivision.ts';
import { Levels } from '../../runtime/lower/levels.ts';
import type { Division, Placement } from '../../runtime/lower/program.ts';
import { type NodeFacts, type Production, RoomGraph } from '../../runtime/lower/roomGraph.ts';
import type { DeviceCost } from '../../runtime/predict/costModel.ts';
import type { RoomCost } from '../../runtime/predict/simulate.ts';

/** Sums by level, and by something else within it. */
class LevelSums {
  readonly #levels: Map<string, number>[] = [];

  add(level: number, key: string, amount: number): void {
    const sums = this.#levels[level] ?? new Map<string, number>();
    this.#levels[level] = sums;
    sums.set(key, (sums.get(key) ?? 0) + amount);
  }

  /** The largest sum of each level, and how many levels have any. */
  largest(): { readonly total: number; readonly levels: number } {
    const used = this.#levels.filter((sums) => sums !== undefined);
    return { total: used.reduce((sum, sums) => sum + Math.max(...sums.values()), 0), levels: used.length };
  }
}

function share(shape: readonly number[], slab: Slab | undefined): number {
  return slab === undefined ? 1 : size(slab.ranges) / Math.max(1, shape[slab.axis] ?? 1);
}

/** Share of the node's arithmetic that a production does. */
function arithmetic({ view, rule }: NodeFacts, production: Production): number {
  if (production.kind === 'whole') return 1;
  const whole = rule?.needs(view, production.slab) ?? [];
  const fewer = production.needs.reduce((product, need, i) => {
    const all = whole[i];
    if (typeof need !== 'object' || typeof all !== 'object' || all.anyOrder !== true) return product;
    return product * (size(need.ranges) / Math.max(1, size(all.ranges)));
  }, 1);
  return fewer * share(view.outputShape, production.slab);
}

function productionMs(facts: NodeFacts, production: Production, cost: DeviceCost): number {
  const { outputShape } = facts.view;
  const elements =
    elementCount(outputShape) * share(outputShape, production.kind === 'part' ? production.slab : undefined);
  const macs = (facts.rule?.macs?.(facts.view) ?? 0) * arithmetic(facts, production);
  return cost.nodeMs + elements / cost.elementsPerMs + macs / cost.macsPerMs;
}

/** Milliseconds of a run. */
export function divisionMs(graph: Graph, division: Division, placement: Placement, cost: RoomCost): number {
  const expanded = expandDivision(graph, division, placement);
  const room = new RoomGraph(expanded.graph, expanded.division, expanded.constants);
  const demands = new Demands(room, placement);
  const levels = new Levels(room, demands.exchanged());
  const bytesOf = (value: string, ranges: Ranges, axis: number) => {
    const { dataType, shape } = room.values.get(value) ?? { dataType: 'float32', shape: [] };
    return tensorBytes({ dataType, dims: shape }) * share(shape, { axis, ranges });
  };
  const [compute, links] = [new LevelSums(), new LevelSums()];
  let last = 0;
  for (const facts of room.facts) {
    for (const output of facts.node.outputs) {
      last = Math.max(last, levels.read(output));
      for (const [device, shards] of placement.entries()) {
        const own = cost.devices[device] ?? cost.devices[0];
        if (own === undefined) continue;
        for (const wanted of demands.produced(device, output)) {
          for (const production of room.produce(facts, wanted, shards)) {
            compute.add(levels.made(output), String(device), productionMs(facts, production, own));
          }
        }
      }
    }
  }
  for (const from of placement.keys()) {
    for (const to of placement.keys()) {
      for (const [value, ranges] of demands.sent(from, to)) {
        const axis = room.sharding(value)?.axis ?? 0;
        links.add(levels.read(value), `${from} ${to}`, bytesOf(value, ranges, axis) / cost.link.bytesPerMs);
        // What arrives is joined with what is there.
        const joined = elementCount(room.shape(value)) * share(room.shape(value), { axis, ranges });
        const { elementsPerMs = 1, nodeMs = 0 } = cost.devices[to] ?? cost.devices[0] ?? {};
        compute.add(levels.read(value), String(to), nodeMs + (2 * joined) / elementsPerMs);
      }
    }
    for (const { name } of from === cost.host ? [] : room.graph.outputs) {
      const sharding = room.sharding(name);
      if (sharding === undefined) continue;
      const bytes = bytesOf(name, demands.owned(from, name), sharding.axis);
      links.add(last + 1, `${from} host`, bytes / cost.link.bytesPerMs);
    }
  }
  const [computed, carried] = [compute.largest(), links.largest()];
  const { messageMs, roundTripMs } = cost.link;
  const stageMs = cost.devices[0]?.stageMs ?? 0;
  return (
    computed.total +
    computed.levels * stageMs +
    carried.total +
    carried.levels * (messageMs + roundTripMs / 2)
  );
}
