/**
 * Predicts how long a run takes: plays the programs of a room on a virtual clock, with the executor's own order of
 * stages, devices that compute and links that carry one message after the other.
 */
import type { Node } from '../../graph/graph.ts';
import { byteCount, type DataType, elementCount } from '../../graph/tensor.ts';
import type { Program, RoomProgram, Stage, Transfer } from '../lower/program.ts';
import type { DeviceCost, LinkCost } from './costModel.ts';

export interface RoomCost {
  readonly devices: readonly DeviceCost[];
  /** The same link between any two devices. */
  readonly link: LinkCost;
  /** Index of the device that feeds the inputs and collects the outputs. */
  readonly host: number;
}

export interface Prediction {
  readonly totalMs: number;
  readonly computeMs: readonly number[];
  /** Bytes of inputs, exchanges and outputs that cross between devices. */
  readonly bytes: number;
}

function bytesOf({
  dataType,
  dims,
}: {
  readonly dataType: DataType;
  readonly dims: readonly number[];
}): number {
  return dataType === 'string' ? 0 : byteCount(dataType, dims);
}

/** Compute time of a stage. */
export function stageMs(program: Program, stage: Stage, cost: DeviceCost): number {
  let ms = cost.stageMs;
  for (const node of stage.nodes) ms += nodeMs(program, node, cost);
  return ms;
}

function nodeMs(program: Program, node: Node, cost: DeviceCost): number {
  const macs = program.nodeMacs.get(node) ?? 0;
  const dims = program.types.get(node.outputs[0] ?? '')?.dims ?? [];
  return cost.nodeMs + macs / cost.macsPerMs + elementCount(dims) / cost.elementsPerMs;
}

/** Messages of one direction between two devices go one after the other. */
class Links {
  readonly #free = new Map<string, number>();
  readonly #cost: LinkCost;
  bytes = 0;

  constructor(cost: LinkCost) {
    this.#cost = cost;
  }

  /** When what leaves at `ms` has arrived. */
  carry(from: number, to: number, bytes: number, ms: number): number {
    if (from === to) return ms;
    const { roundTripMs, bytesPerMs, messageMs } = this.#cost;
    const key = `${from} ${to}`;
    const start = Math.max(ms, this.#free.get(key) ?? 0);
    const sent = start + bytes / bytesPerMs;
    this.#free.set(key, sent);
    this.bytes += bytes;
    return sent + messageMs + roundTripMs / 2;
  }
}

interface Player {
  readonly program: Program;
  readonly cost: DeviceCost;
  /** Local name -> when it is there. */
  readonly ready: Map<string, number>;
  readonly pending: Set<Stage>;
  now: number;
  computeMs: number;
}

/** When a stage could start: as soon as its inputs are there; undefined while one is not known yet. */
function startOf(player: Player, stage: Stage): number | undefined {
  let start = player.now;
  for (const name of stage.inputs) {
    const at = player.ready.get(name);
    if (at === undefined) return undefined;
    start = Math.max(start, at);
  }
  return start;
}

/** The stage the executor would take next: of those that can start first, one that others wait for. */
function nextOf(player: Player): { stage: Stage; start: number } | undefined {
  let best: { stage: Stage; start: number } | undefined;
  for (const stage of player.pending) {
    const start = startOf(player, stage);
    if (start === undefined) continue;
    const sooner = best === undefined || start < best.start;
    const urgent = best !== undefined && start === best.start && stage.sends && !best.stage.sends;
    if (sooner || urgent) best = { stage, start };
  }
  return best;
}

export function simulate(room: RoomProgram, cost: RoomCost): Prediction {
  const links = new Links(cost.link);
  const players = room.programs.map((program, device): Player => {
    const fallback = cost.devices[0];
    const own = cost.devices[device] ?? fallback;
    if (own === undefined) throw new RangeError('A room has at least one device.');
    return { program, cost: own, ready: new Map(), pending: new Set(program.stages), now: 0, computeMs: 0 };
  });
  for (const { program, ready } of players) {
    for (const feed of program.feeds) {
      ready.set(feed.name, links.carry(cost.host, program.device, bytesOf(feed), 0));
    }
  }
  let totalMs = 0;
  for (;;) {
    // The earliest start over all devices goes first, so that links see messages in their true order.
    let chosen: { player: Player; stage: Stage; start: number } | undefined;
    for (const player of players) {
      const next = nextOf(player);
      if (next !== undefined && (chosen === undefined || next.start < chosen.start))
        chosen = { player, ...next };
    }
    if (chosen === undefined) break;
    totalMs = Math.max(totalMs, finish(chosen.player, chosen.stage, chosen.start, players, links, cost.host));
  }
  return { totalMs, computeMs: players.map(({ computeMs }) => computeMs), bytes: links.bytes };
}

/** Plays one stage; returns when the host has the last result it gives. */
function finish(
  player: Player,
  stage: Stage,
  start: number,
  players: readonly Player[],
  links: Links,
  host: number,
): number {
  const { program, ready, pending, cost } = player;
  pending.delete(stage);
  const ms = stageMs(program, stage, cost);
  player.computeMs += ms;
  player.now = start + ms;
  const outputs = new Set(stage.outputs);
  for (const name of outputs) ready.set(name, player.now);
  const deliver = ({ to, targetName, ...tensor }: Transfer) => {
    const arrival = links.carry(program.device, to, bytesOf(tensor), player.now);
    players[to]?.ready.set(targetName, arrival);
  };
  for (const transfer of program.sends) if (outputs.has(transfer.sourceName)) deliver(transfer);
  let last = player.now;
  for (const result of program.results) {
    if (!outputs.has(result.name)) continue;
    last = Math.max(last, links.carry(program.device, host, bytesOf(result), player.now));
  }
  return last;
}
