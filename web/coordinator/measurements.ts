/** What a host knows of the devices and links it may use, put together from what it measured and what they said. */
import type { DeviceStatus } from '../../protocol/roomMessages.ts';
import { localLink } from '../../runtime/predict/costModel.ts';
import type { ForecastQuestion } from '../../workers/api.ts';
import type { LinkCosts } from './linkCosts.ts';
import type { Members } from './members.ts';

export interface MeasuredDevice {
  readonly id: string;
  readonly name: string;
  /** Relative to the reference device. */
  readonly speed: number;
  readonly memoryLimitBytes: number | null;
}

export interface Measurements {
  readonly devices: readonly MeasuredDevice[];
  readonly links: ForecastQuestion['links'];
}

/** `ids`: this device first. */
export function measurementsOf(
  ids: readonly string[],
  own: DeviceStatus,
  members: Members,
  links: Pick<LinkCosts, 'get'>,
): Measurements {
  const [self = ''] = ids;
  const statusOf = (id: string) => (id === self ? own : (members.get(id) ?? null));
  const factor = planFactor(ids.map(statusOf));
  const devices = ids.map((id): MeasuredDevice => {
    const status = statusOf(id);
    const speed = status?.load?.speed ?? (status?.speed ?? 1) * factor;
    return {
      id,
      name: status?.name || 'A device',
      speed,
      memoryLimitBytes: status?.memoryLimitBytes ?? null,
    };
  });
  const costs: { from: string; to: string; cost: ForecastQuestion['links'][number]['cost'] }[] = [];
  for (const [i, from] of ids.entries()) {
    for (const to of ids.slice(i + 1)) {
      const said = statusOf(from)?.linkCosts.find(({ id }) => id === to);
      const heard = statusOf(to)?.linkCosts.find(({ id }) => id === from);
      const cost = (from === self ? links.get(to) : undefined) ?? said ?? heard;
      if (cost !== undefined) costs.push({ from, to, cost: { messageMs: localLink.messageMs, ...cost } });
    }
  }
  return { devices, links: costs };
}

/** How a plan's stages compare with the small model that every device is measured on, where a device has done both. */
function planFactor(statuses: readonly (DeviceStatus | null)[]): number {
  const factors = statuses.flatMap((status) => {
    const base = status?.speed ?? null;
    const plan = status?.load?.speed ?? null;
    return base === null || plan === null || base === 0 ? [] : [plan / base];
  });
  return factors.length === 0 ? 1 : factors.reduce((a, b) => a + b, 0) / factors.length;
}

/** Whether so much has changed that a decision may come out differently. */
export function differs(before: Measurements, now: Measurements): boolean {
  const apart = (a: number, b: number, factor: number) => Math.max(a, b) > factor * Math.min(a, b);
  const device = before.devices.some(({ speed, memoryLimitBytes }, i) => {
    const next = now.devices[i];
    return next === undefined || next.memoryLimitBytes !== memoryLimitBytes || apart(speed, next.speed, 1.25);
  });
  if (device || before.links.length !== now.links.length) return true;
  return before.links.some(({ cost }, i) => {
    const next = now.links[i]?.cost;
    if (next === undefined) return true;
    const rounds = Math.abs(cost.roundTripMs - next.roundTripMs) > 1;
    return (
      apart(cost.bytesPerMs, next.bytesPerMs, 1.5) ||
      (rounds && apart(cost.roundTripMs, next.roundTripMs, 1.5))
    );
  });
}
