/**
 * Lowers a normalised graph and its division for a placement: one program per device. A device that holds
 * every shard gets the normalised graph itself.
 */
import type { Graph } from '../../graph/graph.ts';
import type { Slab } from '../../graph/ops/rule.ts';
import { size } from '../../graph/ranges.ts';
import { tensorBytes } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { Demands } from './demand.ts';
import { DeviceEmitter } from './deviceEmitter.ts';
import { expandDivision } from './expandDivision.ts';
import { Levels } from './levels.ts';
import type { Division, Feed, Placement, Program, Result, RoomProgram, Transfer } from './program.ts';
import { RoomGraph } from './roomGraph.ts';
import { stagesOf } from './stages.ts';

/** Throws PLACEMENT_INVALID unless every shard is held by exactly one device. */
function checkPlacement(placement: Placement, numShards: number): void {
  const held = placement.flat();
  const complete = held.length === numShards && new Set(held).size === numShards;
  if (complete && held.every((shard) => Number.isInteger(shard) && shard >= 0 && shard < numShards)) return;
  throw new StarlingError(
    'PLACEMENT_INVALID',
    `Expected each of the shards 0 to ${numShards - 1} on exactly one device, got ${placement
      .map((shards) => shards.join(',') || '-')
      .join('/')}; give each shard once, devices separated by "/".`,
  );
}

/**
 * Whether a device that holds every shard runs the normalised graph. A sparse division, or one that sends narrower types, is
 * another function than the graph, also there.
 */
export function isDense({ supports, wires }: Division): boolean {
  return (supports?.size ?? 0) === 0 && (wires?.size ?? 0) === 0;
}

export function lower(graph: Graph, division: Division, placement: Placement): RoomProgram {
  checkPlacement(placement, division.numShards);
  const alone = placement.findIndex((shards) => shards.length === division.numShards);
  // Without shardings nothing is divided: the one device that holds everything runs the graph as it is.
  const effective = alone >= 0 && isDense(division) ? { ...division, shardings: new Map() } : division;
  const expanded = expandDivision(graph, effective, placement);
  const room = new RoomGraph(expanded.graph, expanded.division, expanded.constants);
  const plain = new Demands(room, placement);
  // Which values are exchanged, and so the levels, does not depend on the parts in which they are made.
  const levels = new Levels(room, plain.exchanged());
  const demands = division.sendFirst === true ? new Demands(room, placement, levels) : plain;
  const emitters = placement.map((_, device) => new DeviceEmitter(room, demands, levels, device, placement));
  for (const facts of room.facts) for (const emitter of emitters) emitter.emitNode(facts);
  const results = collectResults(room, demands, emitters, placement);
  const transfers = connect(emitters);
  return assemble(emitters, placement, transfers, results);
}

/** The device that computes what nobody owns: the one with shard 0, whatever else it holds. */
function homeOf(placement: Placement): number {
  return placement.findIndex((shards) => shards.includes(0));
}

/** Parts of owned outputs from their owners, as they make them; any other output whole from the home device. */
function collectResults(
  room: RoomGraph,
  demands: Demands,
  emitters: readonly DeviceEmitter[],
  placement: Placement,
): Result[] {
  const results: Result[] = [];
  const home = homeOf(placement);
  const add = (output: string, device: number, slab: Slab | null) => {
    const emitter = emitters[device];
    if (emitter === undefined) return;
    const { name } = emitter.gatherer.gather(output, slab ?? 'whole', slab === null ? 0 : undefined);
    const { dataType, shape } = room.values.get(output) ?? { dataType: 'float32', shape: [] };
    const dims = shape.map((dim, axis) => (axis === slab?.axis ? size(slab.ranges) : dim));
    results.push({ id: results.length, output, device, slab, name, dataType, dims });
  };
  for (const { name } of room.graph.outputs) {
    if (room.isConstant(name)) continue;
    const sharding = room.sharding(name);
    if (sharding === undefined) add(name, home, null);
    else {
      placement.forEach((_, device) => {
        for (const { part } of demands.produced(device, name)) {
          if (part !== 'whole') add(name, device, { axis: part.axis, ranges: part.ranges });
        }
      });
    }
  }
  return results;
}

/** Gives every arrival its counterpart on the sending device, and both the same number. */
function connect(emitters: readonly DeviceEmitter[]): Transfer[] {
  const transfers: Transfer[] = [];
  emitters.forEach((receiver, to) => {
    for (const [from, arrivals] of [...receiver.gatherer.receives].sort(([a], [b]) => a - b)) {
      for (const { value, slab, name } of arrivals) {
        const sender = emitters[from];
        if (sender === undefined || slab === null) continue;
        const sourceName = sender.emitSent(value, slab.axis, slab.ranges);
        const { dataType = 'float32', dims = [] } = receiver.builder.types.get(name) ?? {};
        transfers.push({
          id: transfers.length, value, from, to, ...slab, sourceName, targetName: name, dataType, dims,
        }); // biome-ignore format: one record
      }
    }
  });
  return transfers;
}

function assemble(
  emitters: readonly DeviceEmitter[],
  placement: Placement,
  transfers: readonly Transfer[],
  results: readonly Result[],
): RoomProgram {
  let feedId = 0;
  const programs = emitters.map(({ builder, gatherer }, device): Program => {
    const sends = transfers.filter(({ from }) => from === device);
    const given = results.filter((result) => result.device === device);
    const sent = new Set(sends.map(({ sourceName }) => sourceName));
    const last = new Map(given.map(({ output, name }) => [output, name]));
    const early = given.filter(({ output, name }) => last.get(output) !== name).map(({ name }) => name);
    return {
      device,
      shards: placement[device] ?? [],
      stages: stagesOf(
        {
          nodes: builder.nodes,
          levels: builder.nodeLevels,
          hurried: new Set([...sent, ...early]),
          wanted: new Set([...sent, ...given.map(({ name }) => name)]),
        },
        (node) => builder.reads(node),
      ),
      feeds: gatherer.feeds.map(({ value, slab, name }): Feed => {
        const { dataType = 'float32', dims = [] } = builder.types.get(name) ?? {};
        return { id: feedId++, input: value, device, slab, name, dataType, dims };
      }),
      results: given,
      sends,
      receives: transfers.filter(({ to }) => to === device),
      weights: builder.weights,
      constants: builder.constants,
      types: builder.types,
      macs: builder.macs,
      nodeMacs: builder.nodeMacs,
    };
  });
  const rounds = Math.max(0, ...programs.flatMap(({ stages }) => stages.map(({ level }) => level)));
  const exchangedBytes = transfers.reduce((sum, transfer) => sum + tensorBytes(transfer), 0);
  return { programs, rounds, exchangedBytes };
}
