import { describe, expect, it } from 'vitest';
import { heldPlanAddress, heldPlanHash } from '../protocol/heldPlan.ts';
import { describePlan, planAddresses } from './planAddresses.ts';

const sha256 = '0'.repeat(64);

describe('planAddresses', () => {
  it('looks on its own origin first where the host has the plan on its own', () => {
    const plan = {
      ...describePlan('http://localhost:8080/models/a/plan.json', 'http://localhost:8080', 'me'),
      sha256,
    };
    expect(planAddresses(plan, 'http://192.168.1.5:8080')).toEqual([
      'http://192.168.1.5:8080/models/a/plan.json',
      'http://localhost:8080/models/a/plan.json',
    ]);
    expect(planAddresses(plan, 'http://localhost:8080')).toEqual([
      'http://localhost:8080/models/a/plan.json',
    ]);
  });

  it('keeps to the address of a plan that lies elsewhere', () => {
    const place = describePlan('https://models.example/plan.json', 'http://localhost:8080', 'me');
    const plan = { ...place, sha256 };
    expect(planAddresses(plan, 'http://192.168.1.5:8080')).toEqual(['https://models.example/plan.json']);
  });

  it('says who has a plan that lies on no server, which has one address everywhere', () => {
    const address = heldPlanAddress(sha256);
    const plan = { ...describePlan(address, 'http://localhost:8080', 'me'), sha256 };
    expect(plan).toEqual({ from: 'me', sha256 });
    expect(planAddresses(plan, 'http://192.168.1.5:8080')).toEqual([address]);
    expect(heldPlanHash(address)).toBe(sha256);
    expect(heldPlanHash('starling-plan:../plan.json')).toBeNull();
  });

  it.each(['file:///etc/passwd', 'javascript:alert(1)', 'nonsense'])('tries nothing for %s', (url) => {
    expect(planAddresses({ url, sameOrigin: false, sha256 }, 'http://localhost')).toEqual([]);
  });
});
