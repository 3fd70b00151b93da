/**
 * Where a device finds the plan that a host announces. A page on `localhost` and a phone that opened the same server
 * by its network address have different origins: a plan on the host page's own origin is looked for on one's own.
 * The hash that the host pins makes either address safe. A plan that devices hold has the same address everywhere.
 */
import { heldPlanAddress, heldPlanHash } from '../protocol/heldPlan.ts';
import type { Placement } from '../protocol/roomMessages.ts';

/** What a host says of where the plan lies. */
export type PlanPlace =
  | { readonly url: string; readonly sameOrigin: boolean }
  /** A device that holds its files. */
  | { readonly from: string };

export function describePlan(url: string, ownOrigin: string, self: string): PlanPlace {
  if (heldPlanHash(url) !== null) return { from: self };
  return { url, sameOrigin: new URL(url).origin === ownOrigin };
}

/** Addresses to try, the best first. */
export function planAddresses(plan: Placement['plan'], ownOrigin: string): string[] {
  if ('from' in plan) return [heldPlanAddress(plan.sha256)];
  if (!URL.canParse(plan.url)) return [];
  const announced = new URL(plan.url);
  if (announced.protocol !== 'http:' && announced.protocol !== 'https:') return [];
  const own = new URL(announced.pathname + announced.search, ownOrigin).href;
  return plan.sameOrigin && own !== announced.href ? [own, announced.href] : [announced.href];
}
