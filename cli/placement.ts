/** The text form of a placement: shards separated by commas, devices by slashes. `0,1/2,3` is two devices of two shards. */
import { StarlingError } from '../protocol/errors.ts';
import type { Placement } from '../runtime/lower/program.ts';

/** Throws StarlingError USAGE; whether the shards are those of a plan is checked when it is lowered. */
export function parsePlacement(text: string): Placement {
  return text.split('/').map((device) =>
    device
      .split(',')
      .filter((shard) => shard.trim() !== '')
      .map((shard) => {
        const number = Number(shard);
        if (Number.isInteger(number) && number >= 0) return number;
        throw new StarlingError(
          'USAGE',
          `Expected a placement like 0,1/2,3 (devices separated by "/"), got "${text}".`,
        );
      }),
  );
}
