/** A number on the command line. */
import { StarlingError } from '../protocol/errors.ts';

/** Throws USAGE where `text` is no number from `low` to `high`, or none that is whole. */
export function numberOf(option: string, text: string, low: number, high: number, whole = false): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= low && value <= high && (!whole || Number.isInteger(value)))
    return value;
  throw new StarlingError(
    'USAGE',
    `Expected ${option} to be ${whole ? 'a whole number' : 'a number'} from ${low} to ${high}, got "${text}".`,
  );
}
