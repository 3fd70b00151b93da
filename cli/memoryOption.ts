/** The text form of what devices may have of memory: `64MB` for each, or `256MB,64MB`. */
import { StarlingError } from '../protocol/errors.ts';

const units: Readonly<Record<string, number>> = { MB: 1e6, MiB: 2 ** 20, GB: 1e9, GiB: 2 ** 30 };

/** Bytes for each device; the last one counts for all that follow. Throws StarlingError USAGE. */
export function parseMemory(text: string): number[] {
  return text.split(',').map((part) => {
    const match = /^(\d+(?:\.\d+)?)(MB|MiB|GB|GiB)$/.exec(part);
    const bytes = Number(match?.[1]) * (units[match?.[2] ?? ''] ?? Number.NaN);
    if (bytes > 0) return bytes;
    throw new StarlingError(
      'USAGE',
      `Expected --memory like 64MB or 256MB,64MB (of each device's heap), got "${text}".`,
    );
  });
}
