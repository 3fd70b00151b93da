import { describe, expect, it } from 'vitest';
import { heldPlanAddress } from '../protocol/heldPlan.ts';
import { addressesOf } from './heldPlans.ts';

const hash = 'a'.repeat(64);

/** Notes what it is told to hold, and names it by its number. */
function holder() {
  const told: number[] = [];
  const holdPlans = async (plans: readonly ReadonlyMap<string, Uint8Array>[]) => {
    told.push(plans.length);
    return plans.map((_, i) => `held ${i}`);
  };
  return { told, holdPlans };
}

describe('addressesOf', () => {
  it('gives every plan its address, in order', async () => {
    const worker = holder();
    const plans = [{ files: new Map() }, 'plan/plan.json', { sha256: hash }, { files: new Map() }];
    expect(await addressesOf(plans, worker, 'https://example.org/a/')).toEqual([
      'held 0',
      'https://example.org/a/plan/plan.json',
      heldPlanAddress(hash),
      'held 1',
    ]);
    expect(worker.told).toEqual([2]);
  });

  it('gives up what the page held for a plan of a server, but not for one of the room', async () => {
    const worker = holder();
    await addressesOf([{ sha256: hash }], worker, 'https://example.org/');
    expect(worker.told).toEqual([]);
    await addressesOf(['plan.json'], worker, 'https://example.org/');
    expect(worker.told).toEqual([0]);
  });

  it('rejects what was called off while files were checked, and holds them no longer', async () => {
    const worker = holder();
    const calledOff = addressesOf(
      [{ files: new Map() }],
      worker,
      'https://example.org/',
      AbortSignal.abort(),
    );
    await expect(calledOff).rejects.toMatchObject({ code: 'RUN_ABORTED' });
    expect(worker.told).toEqual([1, 0]);
  });
});
