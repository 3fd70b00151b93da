import { describe, expect, it } from 'vitest';
import type { DeviceStatus, Placement } from '../protocol/roomMessages.ts';
import { deviceViews } from './deviceView.ts';

const status = (load: DeviceStatus['load'], more: Partial<DeviceStatus> = {}): DeviceStatus => ({
  type: 'status',
  name: 'Firefox on Linux',
  backend: null,
  mayStop: false,
  links: [],
  linkCosts: [],
  speed: null,
  memoryLimitBytes: null,
  epoch: 1,
  load,
  session: false,
  claiming: false,
  busy: false,
  ...more,
});
const loading = (progress: number) =>
  ({ epoch: 1, host: 'b', phase: 'loading', progress, error: null, speed: null, heapBytes: null }) as const;
const placement: Placement = {
  type: 'placement',
  epoch: 1,
  host: 'b',
  plan: { url: 'http://localhost/plan.json', sameOrigin: true, sha256: '0'.repeat(64) },
  devices: ['b', 'a'],
  shards: [[0, 1], [2]],
};
const state = {
  placement,
  hostPresent: true,
  own: status({ ...loading(1), phase: 'ready' }),
  others: new Map([
    ['b', status(loading(0.5))],
    ['c', status(null, { mayStop: true })],
    ['d', status(null)],
    ['e', null],
  ]),
  excluded: new Map([['d', { code: 'HASH_MISMATCH' as const, message: 'A file is wrong.' }]]),
  plan: null,
  choice: null,
  waitingRuns: 0,
  running: false,
};

describe('deviceViews', () => {
  it('lists those that hold shards first, and says of each what it does', () => {
    const views = deviceViews('a', state, new Map(), new Map([['f', 'PEER_UNREACHABLE: No way to it.']]));
    expect(views.map(({ id, state: what, shards }) => `${id} ${what} ${shards.join()}`)).toEqual([
      'b loading 0,1',
      'a ready 2',
      'c may-stop ',
      'd failed ',
      'e connecting ',
      'f failed ',
    ]);
    expect(views[0]).toMatchObject({ host: true, self: false, progress: 0.5 });
    expect(views[1]).toMatchObject({ host: false, self: true });
    expect(views[3]?.reason).toBe('HASH_MISMATCH: A file is wrong.');
    expect(views[5]?.reason).toBe('PEER_UNREACHABLE: No way to it.');
  });

  it('shows no shards of a host that is gone', () => {
    const views = deviceViews('a', { ...state, hostPresent: false }, new Map(), new Map());
    expect(views.every(({ shards }) => shards.length === 0)).toBe(true);
  });
});
