/**
 * What a run of one plan would take on the devices of a room, for placements that are worth a look: one device alone,
 * equal shares, shares by speed, and fewer devices. Each is lowered and played on the virtual clock; which is taken
 * is not decided here.
 */
import type { Graph } from '../../graph/graph.ts';
import { lower } from '../lower/lower.ts';
import type { Division, Placement, RoomProgram } from '../lower/program.ts';
import { type LinkCost, localLink, referenceDevice, scaleDevice } from './costModel.ts';
import { predictPeak } from './memory.ts';
import { contiguous, moved, proportional } from './shareOut.ts';
import { simulate } from './simulate.ts';

export interface ForecastDevice {
  readonly id: string;
  /** Relative to referenceDevice. */
  readonly speed: number;
}

export interface ForecastRoom {
  /** The first is the host: it feeds the inputs and collects the outputs. */
  readonly devices: readonly ForecastDevice[];
  readonly links: (from: number, to: number) => LinkCost | undefined;
}

export interface Forecast {
  /** Ids of the devices that take part; the host is among them, if only to feed and collect. */
  readonly devices: readonly string[];
  readonly shards: readonly (readonly number[])[];
  readonly totalMs: number;
  readonly computeMs: readonly number[];
  /** Of inputs, exchanges and outputs between devices. */
  readonly bytes: number;
  readonly rounds: number;
  /** Predicted heap of each device. */
  readonly heapBytes: readonly number[];
}

/** A plan's lowerings, which depend on shares only: kept for the next forecast. */
export class Forecaster {
  readonly #graph: Graph;
  readonly #division: Division;
  readonly #lowered = new Map<
    string,
    { readonly room: RoomProgram; readonly heapBytes: readonly number[] }
  >();

  constructor(graph: Graph, division: Division) {
    this.#graph = graph;
    this.#division = division;
  }

  /** `breathe` is awaited between two placements, so that whoever waits for this thread is served. */
  async forecast(room: ForecastRoom, breathe: () => Promise<void> = async () => {}): Promise<Forecast[]> {
    const found = new Map<string, Forecast>();
    const attempt = async (members: readonly number[], counts: readonly number[]): Promise<Forecast> => {
      const key = `${members} ${counts}`;
      const known = found.get(key);
      if (known !== undefined) return known;
      await breathe();
      const forecast = this.#play(room, members, counts);
      found.set(key, forecast);
      return forecast;
    };
    const { numShards } = this.#division;
    await attempt([0], [numShards]);
    const others = room.devices.map((_, i) => i).slice(1);
    // The host feeds, another computes: for a slow host.
    const fastest = others.reduce((best, i) => (speedOf(room, i) > speedOf(room, best) ? i : best), 0);
    if (fastest !== 0) await attempt([0, fastest], [0, numShards]);
    for (const members of await this.#groups(room, others, attempt)) {
      const counts = await this.#refine(room, members, attempt);
      // A host that is slower than its devices only feeds and collects.
      if (members.length > 2 && (counts[0] ?? 0) > 0) {
        const helpers = members.slice(1, numShards + 1);
        await attempt(
          [0, ...helpers],
          [
            0,
            ...proportional(
              numShards,
              helpers.map((i) => speedOf(room, i)),
            ),
          ],
        );
      }
    }
    return [...found.values()];
  }

  /** The host with ever more devices, in the order of how well each does with the host alone. */
  async #groups(
    room: ForecastRoom,
    others: readonly number[],
    attempt: (members: readonly number[], counts: readonly number[]) => Promise<Forecast>,
  ): Promise<number[][]> {
    const { numShards } = this.#division;
    if (numShards < 2) return [];
    const pairs: { readonly device: number; readonly ms: number }[] = [];
    for (const device of others) {
      const counts = proportional(numShards, [speedOf(room, 0), speedOf(room, device)]);
      pairs.push({ device, ms: (await attempt([0, device], counts)).totalMs });
    }
    pairs.sort((a, b) => a.ms - b.ms);
    return pairs.slice(0, numShards - 1).map((_, i) => [
      0,
      ...pairs
        .slice(0, i + 1)
        .map(({ device }) => device)
        .sort((a, b) => a - b),
    ]);
  }

  /** Equal shares, shares by speed, and shards moved from who computes longest to who computes least. */
  async #refine(
    room: ForecastRoom,
    members: readonly number[],
    attempt: (members: readonly number[], counts: readonly number[]) => Promise<Forecast>,
  ): Promise<readonly number[]> {
    const { numShards } = this.#division;
    const equal = proportional(
      numShards,
      members.map(() => 1),
    );
    let counts = proportional(
      numShards,
      members.map((i) => speedOf(room, i)),
    );
    let best = await attempt(members, counts);
    const same = await attempt(members, equal);
    if (same.totalMs < best.totalMs) [best, counts] = [same, equal];
    for (let moves = 0; moves < 2; moves++) {
      const next = moved(counts, extreme(best.computeMs, 1), extreme(best.computeMs, -1));
      if (next === undefined) break;
      const forecast = await attempt(members, next);
      if (forecast.totalMs >= best.totalMs) break;
      [best, counts] = [forecast, next];
    }
    return counts;
  }

  #play(room: ForecastRoom, members: readonly number[], counts: readonly number[]): Forecast {
    const { program, heapBytes } = this.#lower(contiguous(counts));
    const cost = {
      devices: members.map((i) => scaleDevice(referenceDevice, speedOf(room, i))),
      link: localLink,
      links: (from: number, to: number) => room.links(members[from] ?? 0, members[to] ?? 0),
      host: 0,
    };
    const { totalMs, computeMs, bytes } = simulate(program, cost);
    return {
      devices: members.map((i) => room.devices[i]?.id ?? ''),
      shards: contiguous(counts),
      totalMs,
      computeMs,
      bytes,
      rounds: program.rounds,
      heapBytes,
    };
  }

  #lower(placement: Placement): { readonly program: RoomProgram; readonly heapBytes: readonly number[] } {
    const key = JSON.stringify(placement);
    const known = this.#lowered.get(key);
    if (known !== undefined) return { program: known.room, heapBytes: known.heapBytes };
    const room = lower(this.#graph, this.#division, placement);
    const heapBytes = room.programs.map((program) => predictPeak(program).heapBytes);
    this.#lowered.set(key, { room, heapBytes });
    return { program: room, heapBytes };
  }
}

function speedOf({ devices }: ForecastRoom, index: number): number {
  return devices[index]?.speed ?? 1;
}

/** Index of the largest (`sign` 1) or smallest (-1) value. */
function extreme(values: readonly number[], sign: 1 | -1): number {
  return values.reduce((best, value, i) => (sign * value > sign * (values[best] ?? 0) ? i : best), 0);
}
