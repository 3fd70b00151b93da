/** The check every backend makes before a run: the feeds are exactly the session's inputs. */
import { StarlingError } from '../protocol/errors.ts';

/** Throws StarlingError SESSION_FAILED with both lists of names. */
export function assertFeeds(inputNames: readonly string[], feeds: ReadonlyMap<string, unknown>): void {
  if (feeds.size === inputNames.length && inputNames.every((name) => feeds.has(name))) return;
  throw new StarlingError(
    'SESSION_FAILED',
    `The session takes the inputs [${inputNames.join(', ')}], got [${[...feeds.keys()].join(', ')}].`,
  );
}
