/** One picture through a session whose plan makes pictures larger, tile by tile. Shows nothing and decodes nothing. */
import { StarlingError } from '../protocol/errors.ts';
import type { RunReport, Session } from './session.ts';
import { cropTile, cutTile, type Planes, type TileGrid, tileGrid } from './tiles.ts';

/** Source pixels that a result depends on, where the plan does not say. */
const defaultRadius = 12;

/** Tiles in the queue at once: the next one waits at the devices while one computes. */
const tilesInFlight = 2;

export interface PicturePlan {
  readonly input: string;
  readonly output: string;
  readonly tileHeight: number;
  readonly tileWidth: number;
  readonly scale: number;
  readonly radius: number;
  /** Whether the plan takes 8-bit pixels; otherwise numbers from 0 to 1. */
  readonly pixels: boolean;
}

export interface UpscaleTotals {
  readonly tiles: number;
  readonly timeMs: number;
  /** Sent and received by this device. */
  readonly bytes: number;
  /** Points at which a device had to wait for another, over all tiles. */
  readonly rounds: number;
  /** Most devices that held shards at once. */
  readonly devices: number;
  /** Runs that started again because a device was lost. */
  readonly restarts: number;
}

export interface UpscaleOptions {
  readonly signal: AbortSignal;
  /** Has the devices note what they do in the last tile: the room tells it with the run. */
  readonly timeline?: boolean | undefined;
  /** The finished part of the result and where it belongs, as soon as it is there. */
  onTile(part: ReturnType<typeof cropTile>, done: number, total: number): void;
}

/** How the session's plan takes and gives pictures. Throws INPUT_INVALID where it does not. */
export function picturePlan({ plan }: Session): PicturePlan {
  const [input, output] = [plan.inputs[0], plan.outputs[0]];
  const [, channels, tileHeight = 0, tileWidth = 0] = input?.shape ?? [];
  const [, outChannels, outHeight = 0] = output?.shape ?? [];
  const scale = outHeight / tileHeight;
  const fits =
    plan.inputs.length === 1 && channels === 3 && outChannels === 3 && Number.isInteger(scale) && scale > 0;
  if (input === undefined || output === undefined || !fits) {
    throw new StarlingError(
      'INPUT_INVALID',
      `The plan "${plan.name}" does not make pictures larger: it needs one input 1 x 3 x H x W and a larger output.`,
    );
  }
  const given = Number(plan.metadata['receptiveRadius']);
  const radius = Number.isFinite(given) && given > 0 ? given : defaultRadius;
  const pixels = input.dataType === 'uint8';
  return { input: input.name, output: output.name, tileHeight, tileWidth, scale, radius, pixels };
}

function toPixels(unit: Float32Array): Uint8Array {
  return Uint8Array.from(unit, (value) => Math.round(value * 255));
}

/** A result as numbers from 0 to 1, whichever way the plan gives it. Throws RUN_FAILED. */
function unitRange(data: unknown): Float32Array {
  if (data instanceof Float32Array) return data;
  if (data instanceof Uint8Array) return Float32Array.from(data, (pixel) => pixel / 255);
  throw new StarlingError('RUN_FAILED', 'The plan gave neither a float32 picture nor pixels.');
}

export function gridFor(picture: Planes, plan: PicturePlan): TileGrid {
  return tileGrid(picture.height, picture.width, plan.tileHeight, plan.tileWidth, plan.radius);
}

/** Rejects with what stopped the first tile that failed, or RUN_ABORTED. */
export async function upscale(
  session: Session,
  picture: Planes,
  { signal, timeline = false, onTile }: UpscaleOptions,
): Promise<UpscaleTotals> {
  const plan = picturePlan(session);
  const grid = gridFor(picture, plan);
  const startedAt = performance.now();
  const reports: RunReport[] = [];
  // The first tile that fails calls off the others.
  const own = new AbortController();
  const stop = AbortSignal.any([signal, own.signal]);
  const waiting = grid.tiles.values();
  let done = 0;
  const work = async () => {
    for (const tile of waiting) {
      const dims = [1, 3, plan.tileHeight, plan.tileWidth];
      const cut = cutTile(picture, grid, tile);
      const feeds = { [plan.input]: { data: plan.pixels ? toPixels(cut) : cut, dims } };
      const outputs = await session.run(feeds, {
        signal: stop,
        timeline: timeline && tile === grid.tiles.at(-1),
        onReport: (report) => reports.push(report),
      });
      const data = unitRange(outputs[plan.output]?.data);
      onTile(cropTile(grid, tile, data, 3, plan.scale), ++done, grid.tiles.length);
    }
  };
  try {
    await Promise.all(Array.from({ length: tilesInFlight }, work));
  } catch (thrown) {
    own.abort();
    throw thrown;
  }
  const sum = (of: (report: RunReport) => number) => reports.reduce((total, one) => total + of(one), 0);
  return {
    tiles: grid.tiles.length,
    timeMs: performance.now() - startedAt,
    bytes: sum(({ sentBytes, receivedBytes }) => sentBytes + receivedBytes),
    rounds: sum(({ rounds }) => rounds),
    devices: Math.max(...reports.map(({ devices }) => devices)),
    restarts: sum(({ restarts }) => restarts),
  };
}
