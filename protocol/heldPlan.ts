/**
 * The address of a plan that devices of the room hold instead of a server: its plan.json's hash, by which its files
 * are asked for. It says nothing of who has them.
 */
const scheme = 'starling-plan:';

export function heldPlanAddress(sha256: string): string {
  return `${scheme}${sha256}`;
}

/** The hash of plan.json, or null for the address of a plan on a server. */
export function heldPlanHash(address: string): string | null {
  const hash = address.startsWith(scheme) ? address.slice(scheme.length) : '';
  return /^[0-9a-f]{64}$/.test(hash) ? hash : null;
}
