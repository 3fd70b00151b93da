/**
 * Where a device finds the plan that a host announces. A page on `localhost` and a phone that opened the same server
 * by its network address have different origins: a plan on the host page's own origin is looked for on one's own.
 * The hash that the host pins makes either address safe.
 */
import type { Placement } from '../protocol/roomMessages.ts';

export function describePlan(url: string, ownOrigin: string): { url: string; sameOrigin: boolean } {
  return { url, sameOrigin: new URL(url).origin === ownOrigin };
}

/** Addresses to try, the best first. */
export function planAddresses(plan: Placement['plan'], ownOrigin: string): string[] {
  if (!URL.canParse(plan.url)) return [];
  const announced = new URL(plan.url);
  if (announced.protocol !== 'http:' && announced.protocol !== 'https:') return [];
  const own = new URL(announced.pathname + announced.search, ownOrigin).href;
  return plan.sameOrigin && own !== announced.href ? [own, announced.href] : [announced.href];
}
