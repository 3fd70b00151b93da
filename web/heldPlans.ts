/** The addresses under which a device knows the plans that its page loads; plans of the page itself are held from then on. */
import { StarlingError } from '../protocol/errors.ts';
import { heldPlanAddress } from '../protocol/heldPlan.ts';
import { limits } from '../protocol/limits.ts';
import type { PlanToLoad } from './roomApi.ts';
import type { DeviceWorker } from './worker/deviceWorker.ts';

/** Rejects PLAN_NOT_FOUND where there is nothing to choose from, RUN_ABORTED, and as holding a plan does. */
export async function addressesOf(
  plans: readonly PlanToLoad[],
  worker: Pick<DeviceWorker, 'holdPlans'>,
  base: string,
  signal?: AbortSignal,
): Promise<string[]> {
  if (plans.length < 1 || plans.length > limits.plansAtOnce) {
    throw new StarlingError(
      'PLAN_NOT_FOUND',
      `Expected 1 to ${limits.plansAtOnce} plans to choose from, got ${plans.length}.`,
    );
  }
  const files = plans.flatMap((plan) => (isFiles(plan) ? [plan.files] : []));
  // A plan that is asked for by its hash may be the one that this page holds.
  const own = files.length === 0 && plans.some(isHash) ? [] : await worker.holdPlans(files);
  // Called off while large files were checked: whoever loads nothing must not end what was loaded before either.
  if (signal?.aborted === true) {
    worker.holdPlans([]).catch(() => undefined);
    throw new StarlingError('RUN_ABORTED', 'Loading the plan was called off by its caller.');
  }
  let next = 0;
  return plans.map((plan) => {
    if (isFiles(plan)) return own[next++] ?? '';
    return isHash(plan) ? heldPlanAddress(plan.sha256) : new URL(plan, base).href;
  });
}

function isFiles(plan: PlanToLoad): plan is Extract<PlanToLoad, { readonly files: unknown }> {
  return typeof plan === 'object' && 'files' in plan;
}

function isHash(plan: PlanToLoad): plan is { readonly sha256: string } {
  return typeof plan === 'object' && 'sha256' in plan;
}
