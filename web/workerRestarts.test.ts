import { describe, expect, it } from 'vitest';
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import { WorkerRestarts } from './workerRestarts.ts';

const died = new StarlingError('WORKER_DIED', 'It died.');

describe('WorkerRestarts', () => {
  it('allows a few in a while, and later a few more', () => {
    let now = 5000;
    const restarts = new WorkerRestarts({ now: () => now });
    const allowed = () => Array.from({ length: limits.workerRestarts + 2 }, () => restarts.allow(died));
    const some = [...Array<boolean>(limits.workerRestarts).fill(true), false, false];
    expect(allowed()).toEqual(some);
    now += limits.workerRestartsMs - 1;
    expect(restarts.allow(died)).toBe(false);
    now += 1;
    expect(allowed()).toEqual(some);
  });

  it('is not for other reasons to leave a room', () => {
    const restarts = new WorkerRestarts({ now: () => 0 });
    expect(restarts.allow(new StarlingError('RUN_ABORTED', 'The page left.'))).toBe(false);
    expect(restarts.allow(died)).toBe(true);
  });
});
