import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import type { Placement } from '../../protocol/roomMessages.ts';
import { Follower } from './follower.ts';
import { planOf } from './testing/simulatedDevice.ts';
import { ticks } from './testing/simulatedRoom.ts';

const placement: Placement = {
  type: 'placement',
  epoch: 1,
  host: 'b',
  plan: { url: 'http://host/plan.json', sameOrigin: false, sha256: planOf('plan').sha256 },
  devices: ['b', 'a'],
  shards: [[0], [1]],
};

/** A Worker that opens the same plan at every address and finds the weights at one of them damaged. */
function follow(damaged: (url: string) => StarlingError | null) {
  const opened: string[] = [];
  const follower = new Follower({
    self: 'a',
    planAddresses: (plan) => ['url' in plan ? plan.url : '', 'http://mirror/plan.json'],
    onChange: () => undefined,
    device: {
      openPlan: async ({ url }) => {
        opened.push(url);
        return planOf('plan');
      },
      load: async () => {
        const error = damaged(opened.at(-1) ?? '');
        if (error !== null) throw error;
        return { speed: 2, heapBytes: 1e6 };
      },
    },
  });
  return { follower, opened };
}

const wrong = new StarlingError('HASH_MISMATCH', 'A weight file is wrong.');

describe('Follower', () => {
  it('takes a plan that is open already, wherever it came from', async () => {
    const { follower, opened } = follow(() => null);
    await follower.open('http://own/plan.json');
    follower.follow(placement);
    await ticks();
    expect(follower.load?.phase).toBe('ready');
    expect(opened).toEqual(['http://own/plan.json']);
  });

  it('reads the plan elsewhere where its files are damaged', async () => {
    const { follower, opened } = follow((url) => (url.includes('mirror') ? null : wrong));
    await follower.open('http://own/plan.json');
    follower.follow(placement);
    await ticks();
    await ticks();
    expect(follower.load?.phase).toBe('ready');
    expect(opened).toEqual(['http://own/plan.json', 'http://host/plan.json', 'http://mirror/plan.json']);
  });

  it('fails with the first reason where they are damaged everywhere, and at once where the device is at fault', async () => {
    const everywhere = follow(() => wrong);
    everywhere.follower.follow(placement);
    await ticks();
    await ticks();
    expect(everywhere.follower.load).toMatchObject({ phase: 'failed', error: { code: 'HASH_MISMATCH' } });
    const device = follow(() => new StarlingError('SESSION_FAILED', 'Out of memory.'));
    device.follower.follow(placement);
    await ticks();
    expect(device.follower.load).toMatchObject({ phase: 'failed', error: { code: 'SESSION_FAILED' } });
    expect(device.opened).toHaveLength(1);
  });
});
