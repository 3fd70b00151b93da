import { describe, expect, it } from 'vitest';
import { MemoryLedger } from './memoryLedger.ts';

const mebi = 2 ** 20;

describe('the memory of a device', () => {
  it('holds so many parts of instances as fit beside the share of the room', () => {
    let roomBytes = 16 * mebi;
    const ledger = new MemoryLedger({ limitBytes: 64 * mebi, roomBytes: () => roomBytes });
    const release = ledger.reserve(20 * mebi);
    ledger.reserve(20 * mebi);
    expect(() => ledger.reserve(20 * mebi)).toThrow(
      /needs about 20 MiB .* beside 56 MiB of the room's share and 2 instances, and its limit is 64 MiB/,
    );
    release();
    release();
    ledger.reserve(20 * mebi);
    roomBytes = 0;
    ledger.reserve(20 * mebi);
    expect(() => ledger.reserve(10 * mebi)).toThrow(/beside 60 MiB/);
  });

  it('is not looked at where there is no limit', () => {
    const ledger = new MemoryLedger({ limitBytes: null, roomBytes: () => 1e12 });
    expect(() => ledger.reserve(1e12)).not.toThrow();
  });
});
