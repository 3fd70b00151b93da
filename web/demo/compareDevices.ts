/** One picture through this device alone and through the room, one after the other: how long each takes. Shows nothing. */
import type { Session } from '../session.ts';
import type { Planes } from '../tiles.ts';
import { gridFor, picturePlan, type UpscaleTotals, upscale } from '../upscale.ts';

export interface Comparison {
  readonly aloneMs: number;
  readonly roomMs: number;
  /** Most devices that held shards in the room's turn. */
  readonly devices: number;
}

export interface CompareOptions {
  readonly signal: AbortSignal;
  /** Tiles of both turns together. */
  onProgress(done: number, total: number): void;
}

/** Rejects as `upscale` does. The session uses the devices it did before when this settles. */
export async function compareDevices(
  session: Session,
  picture: Planes,
  { signal, onProgress }: CompareOptions,
): Promise<Comparison> {
  const tiles = gridFor(picture, picturePlan(session)).tiles.length;
  let done = 0;
  const measure = async (devices: 'own' | 'all'): Promise<UpscaleTotals> => {
    session.useDevices(devices);
    // Before the clock starts: shards change hands, and the first run of a session is slower than the others.
    await upscale(session, firstTile(session, picture), { signal, onTile: () => {} });
    return upscale(session, picture, { signal, onTile: () => onProgress(++done, 2 * tiles) });
  };
  try {
    const alone = await measure('own');
    const room = await measure('all');
    return { aloneMs: alone.timeMs, roomMs: room.timeMs, devices: room.devices };
  } finally {
    session.useDevices();
  }
}

/** The corner of the picture that one tile holds. */
function firstTile(session: Session, picture: Planes): Planes {
  const { tileHeight, tileWidth } = picturePlan(session);
  const height = Math.min(tileHeight, picture.height);
  const width = Math.min(tileWidth, picture.width);
  const data = new Float32Array(3 * height * width);
  for (let row = 0; row < 3 * height; row++) {
    const [channel, y] = [Math.floor(row / height), row % height];
    const start = (channel * picture.height + y) * picture.width;
    data.set(picture.data.subarray(start, start + width), row * width);
  }
  return { data, channels: 3, height, width };
}
