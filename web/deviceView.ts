/** What a page shows of each device of its room, this one included: one readonly list made from the room's state. */
import type { BackendInfo } from '../protocol/backendInfo.ts';
import type { CoordinatorState } from './coordinator/coordinator.ts';
import { loadOf } from './coordinator/members.ts';
import type { MeshPeer } from './peers/meshApi.ts';

export interface DeviceView {
  readonly id: string;
  /** Browser and platform. */
  readonly name: string;
  /** This page's own device. */
  readonly self: boolean;
  /** Feeds the inputs and collects the outputs. */
  readonly host: boolean;
  /** The shards it holds, or is loading; empty where it holds none. */
  readonly shards: readonly number[];
  readonly state: 'connecting' | 'waiting' | 'loading' | 'ready' | 'may-stop' | 'failed';
  /** Part of its shards that is loaded, 0 to 1. */
  readonly progress: number;
  /** Why it failed, with a code in front. */
  readonly reason: string | null;
  readonly backend: BackendInfo | null;
  /** How this page reaches it; null on this device itself and until it is known. */
  readonly path: 'direct' | 'relay' | null;
  /** Null on this device itself and before the first measurement. */
  readonly roundTripMs: number | null;
  /** Of its Worker's wasm heap when its shards were loaded; null before, and where it cannot be known. */
  readonly heapBytes: number | null;
}

/** Reasons why devices are not connected, by id. */
export type LinkFailures = ReadonlyMap<string, string>;

export function deviceViews(
  self: string,
  state: CoordinatorState,
  peers: ReadonlyMap<string, MeshPeer>,
  failures: LinkFailures,
): DeviceView[] {
  const ids = new Set([...peers.keys(), ...state.others.keys(), ...failures.keys()]);
  ids.delete(self);
  const placement = state.hostPresent ? state.placement : null;
  const order = (id: string) => placement?.devices.indexOf(id) ?? -1;
  const views = [self, ...ids].map((id): DeviceView => {
    const own = id === self;
    const status = own ? state.own : (state.others.get(id) ?? null);
    const peer = peers.get(id);
    const shards = placement?.shards[order(id)] ?? [];
    const load = placement === null ? null : loadOf(status, placement);
    const excluded = state.excluded.get(id) ?? load?.error ?? null;
    const reason = excluded === null ? (failures.get(id) ?? null) : `${excluded.code}: ${excluded.message}`;
    return {
      id,
      name: status?.name || peer?.capabilities?.label || 'A device',
      self: own,
      host: placement?.host === id,
      shards,
      state: stateOf(reason, status, shards.length > 0 ? (load?.phase ?? 'loading') : null),
      progress: load?.progress ?? 0,
      reason,
      backend: status?.backend ?? null,
      path: peer?.path ?? null,
      roundTripMs: peer?.roundTripMs ?? null,
      heapBytes: load?.heapBytes ?? null,
    };
  });
  // Those that hold shards first, in the order of their shards.
  const rank = ({ id }: DeviceView) => (order(id) < 0 ? Number.MAX_SAFE_INTEGER : order(id));
  return views.sort((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1));
}

function stateOf(
  reason: string | null,
  status: CoordinatorState['own'] | null,
  phase: 'loading' | 'ready' | 'failed' | null,
): DeviceView['state'] {
  if (reason !== null) return 'failed';
  if (status === null) return 'connecting';
  if (status.mayStop) return 'may-stop';
  return phase ?? 'waiting';
}

/** Part of all shards that is loaded, 0 to 1. */
export function loadProgress(devices: readonly DeviceView[]): number {
  const loading = devices.filter(({ shards }) => shards.length > 0);
  return loading.reduce((sum, { progress }) => sum + progress, 0) / Math.max(1, loading.length);
}
