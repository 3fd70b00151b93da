import { describe, expect, it } from 'vitest';
import { type CataloguePlan, planFor } from './catalogue.ts';

const plan = (exchange: CataloguePlan['exchange'], shards: number): CataloguePlan => ({
  exchange,
  shards,
  path: `${exchange}-${shards}`,
});

describe('the plan for a room', () => {
  const plans = [plan('sparse', 4), plan('dense', 4), plan('sparse', 2)];

  it('has the fewest shards that give every device one', () => {
    expect([1, 2, 3, 4].map((devices) => planFor(plans, 'sparse', devices)?.path)).toEqual([
      'sparse-2',
      'sparse-2',
      'sparse-4',
      'sparse-4',
    ]);
  });

  it('has the most there are where devices are more', () => {
    expect(planFor(plans, 'sparse', 9)?.path).toBe('sparse-4');
    expect(planFor(plans, 'dense', 1)?.path).toBe('dense-4');
  });

  it('is none where no plan has this exchange', () => {
    expect(planFor([plan('dense', 4)], 'sparse', 2)).toBeUndefined();
  });
});
