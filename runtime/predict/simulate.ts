/**
 * Predicts how long a run takes: plays the programs of a room on a virtual clock, with the executor's own order of
 * stages, devices that compute and handle messages, and links that carry one message after the other.
 */
import type { Node } from '../../graph/graph.ts';
import { elementCount, tensorBytes } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Program, Result, RoomProgram, Stage, Transfer } from '../lower/program.ts';
import type { DeviceCost, LinkCost } from './costModel.ts';

export interface RoomCost {
  readonly devices: readonly DeviceCost[];
  /** Between any two devices for which `links` gives nothing else. */
  readonly link: LinkCost;
  readonly links?: (from: number, to: number) => LinkCost | undefined;
  /** Index of the device that feeds the inputs and collects the outputs. */
  readonly host: number;
}

export interface Prediction {
  readonly totalMs: number;
  readonly computeMs: readonly number[];
  /** Bytes of inputs, exchanges and outputs that cross between devices. */
  readonly bytes: number;
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
  readonly #cost: Pick<RoomCost, 'link' | 'links'>;
  bytes = 0;

  constructor(cost: Pick<RoomCost, 'link' | 'links'>) {
    this.#cost = cost;
  }

  /** When what leaves at `ms` has arrived. */
  carry(from: number, to: number, bytes: number, ms: number): number {
    const { roundTripMs, bytesPerMs, messageMs } = this.#cost.links?.(from, to) ?? this.#cost.link;
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
  /** By the local name that leaves. */
  readonly sends: ReadonlyMap<string, readonly Transfer[]>;
  readonly results: ReadonlyMap<string, readonly Result[]>;
  now: number;
  computeMs: number;
  /** Of messages that came or left since its last stage started. */
  handlingMs: number;
}

function byName<T>(all: readonly T[], nameOf: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(nameOf(one));
    if (group === undefined) groups.set(nameOf(one), [one]);
    else group.push(one);
  }
  return groups;
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

/** A room being played: whatever becomes known on a device is handed on at once to those who get it. */
class Play {
  readonly players: readonly Player[];
  readonly links: Links;
  totalMs = 0;
  readonly #host: number;

  constructor(room: RoomProgram, cost: RoomCost) {
    this.links = new Links(cost);
    this.#host = cost.host;
    this.players = room.programs.map((program, device): Player => {
      const own = cost.devices[device] ?? cost.devices[0];
      if (own === undefined) throw new RangeError('A room has at least one device.');
      return {
        program,
        cost: own,
        ready: new Map(),
        pending: new Set(program.stages),
        sends: byName(program.sends, ({ sourceName }) => sourceName),
        results: byName(program.results, ({ name }) => name),
        now: 0,
        computeMs: 0,
        handlingMs: 0,
      };
    });
    for (const player of this.players) {
      for (const feed of player.program.feeds) {
        this.#known(player, feed.name, this.#carry(cost.host, player.program.device, tensorBytes(feed), 0));
      }
    }
  }

  /** Plays the stage that can start first of all devices', so that links see messages in their true order. */
  step(): boolean {
    let chosen: { player: Player; stage: Stage; start: number } | undefined;
    for (const player of this.players) {
      const next = nextOf(player);
      if (next !== undefined && (chosen === undefined || next.start < chosen.start))
        chosen = { player, ...next };
    }
    if (chosen === undefined) return false;
    const { player, stage, start } = chosen;
    player.pending.delete(stage);
    const ms = stageMs(player.program, stage, player.cost);
    const idleMs = start - player.now;
    player.now = start + ms + Math.max(0, player.handlingMs - idleMs);
    player.handlingMs = 0;
    player.computeMs += ms;
    for (const name of stage.outputs) this.#known(player, name, player.now);
    return true;
  }

  #known(player: Player, name: string, ms: number): void {
    const { program, ready, sends, results } = player;
    ready.set(name, ms);
    for (const { targetName, to, ...tensor } of sends.get(name) ?? []) {
      const receiver = this.players[to];
      if (receiver === undefined) continue;
      this.#known(receiver, targetName, this.#carry(program.device, to, tensorBytes(tensor), ms));
    }
    for (const result of results.get(name) ?? []) {
      const there = this.#carry(program.device, this.#host, tensorBytes(result), ms);
      this.totalMs = Math.max(this.totalMs, there);
    }
  }

  /** When what leaves at `ms` has arrived; both ends have it to handle. */
  #carry(from: number, to: number, bytes: number, ms: number): number {
    if (from === to) return ms;
    for (const end of [from, to]) {
      const player = this.players[end];
      if (player !== undefined) player.handlingMs += bytes / player.cost.handledBytesPerMs;
    }
    return this.links.carry(from, to, bytes, ms);
  }
}

/** Throws INTERNAL where stages wait for each other, which lowering must never let happen. */
export function simulate(room: RoomProgram, cost: RoomCost): Prediction {
  const play = new Play(room, cost);
  while (play.step());
  const stuck = play.players.find(({ pending }) => pending.size > 0);
  if (stuck !== undefined) {
    throw new StarlingError(
      'INTERNAL',
      `Stages of device ${stuck.program.device} wait for each other; lowering is wrong.`,
    );
  }
  return {
    totalMs: play.totalMs,
    computeMs: play.players.map(({ computeMs }) => computeMs),
    bytes: play.links.bytes,
  };
}
