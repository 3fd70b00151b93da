import { describe, expect, it } from 'vitest';
import { StarlingError } from '../protocol/errors.ts';
import type { PlanForecast } from '../workers/api.ts';
import { type ChoiceContext, choosePlacement, placementKey } from './choosePlacement.ts';

const mebi = 2 ** 20;

function forecast(
  shards: Readonly<Record<string, number>>,
  totalMs: number,
  more: Partial<PlanForecast> = {},
): PlanForecast {
  let next = 0;
  return {
    url: 'http://localhost/plan.json',
    sha256: 'a'.repeat(64),
    axis: 'channels',
    devices: Object.keys(shards),
    shards: Object.values(shards).map((count) => Array.from({ length: count }, () => next++)),
    totalMs,
    computeMs: Object.values(shards).map(() => totalMs),
    bytes: 2e6,
    rounds: 12,
    heapBytes: Object.values(shards).map((count) => count * 20 * mebi),
    ...more,
  };
}

const alone = (ms: number) => forecast({ h: 4 }, ms);
const pair = (ms: number) => forecast({ h: 2, a: 2 }, ms);

function choose(forecasts: readonly PlanForecast[], more: Partial<ChoiceContext> = {}) {
  const names: Readonly<Record<string, string>> = { h: 'Chromium', a: 'Firefox', b: 'A phone' };
  const choice = choosePlacement(forecasts, {
    host: 'h',
    limitOf: () => null,
    observedMs: new Map(),
    current: null,
    nameOf: (id) => names[id] ?? id,
    ...more,
  });
  if (choice instanceof StarlingError) throw choice;
  return choice;
}

describe('choosePlacement', () => {
  it('takes the room where that is faster, and says by how much', () => {
    const choice = choose([alone(100), pair(60)]);
    expect(choice.forecast.devices).toEqual(['h', 'a']);
    expect(choice).toMatchObject({ expectedMs: 60, aloneMs: 100, togetherMs: 60 });
    expect(choice.reason).toBe('2 devices, divided by channels: 60 ms against 100 ms on this device alone.');
  });

  it('stays on one device where the room saves next to nothing, and says why', () => {
    const choice = choose([alone(100), pair(96)]);
    expect(choice.forecast.devices).toEqual(['h']);
    expect(choice.reason).toContain('One device alone is faster');
    expect(choice.reason).toContain('exchange 2.0 MB in 12 rounds');
  });

  it('gives a device that slows the room down no shard, and names it', () => {
    const three = forecast({ h: 2, a: 1, b: 1 }, 200);
    const choice = choose([alone(100), pair(60), three]);
    expect(choice.forecast.devices).toEqual(['h', 'a']);
    expect(choice.reason).toContain('A phone would slow it down and gets no shard.');
  });

  it('lets a faster device compute alone', () => {
    const choice = choose([alone(100), forecast({ h: 0, a: 4 }, 30), pair(50)]);
    expect(choice.forecast.shards).toEqual([[], [0, 1, 2, 3]]);
    expect(choice.reason).toContain('Firefox computes alone: 30 ms');
  });

  it('believes what runs have taken more than what was predicted', () => {
    const room = pair(60);
    const observedMs = new Map([[placementKey(room), 130]]);
    expect(choose([alone(100), room], { observedMs, current: placementKey(room) }).forecast.devices).toEqual([
      'h',
    ]);
    // One device was tried then, and is slower still.
    observedMs.set(placementKey(alone(100)), 180);
    const back = choose([alone(100), room], { observedMs, current: placementKey(alone(100)) });
    expect(back.forecast.devices).toEqual(['h', 'a']);
  });

  it('keeps what is loaded while another placement saves little', () => {
    const [room, other] = [pair(60), forecast({ h: 3, a: 1 }, 58)];
    expect(choose([alone(100), room, other], { current: placementKey(room) }).forecast).toBe(room);
    expect(choose([alone(100), room, other]).forecast).toBe(other);
  });

  it('fits devices to their memory: two where the model is too large for one', () => {
    const choice = choose([alone(50), pair(80)], { limitOf: () => 50 * mebi });
    expect(choice.forecast.devices).toEqual(['h', 'a']);
    expect(choice.aloneMs).toBeNull();
    expect(choice.reason).toContain('the model does not fit one');
  });

  it('refuses clearly where nothing fits, with the nearest', () => {
    const fails = () => choose([alone(50), pair(80)], { limitOf: (id) => (id === 'h' ? 30 * mebi : null) });
    expect(fails).toThrow(StarlingError);
    expect(fails).toThrow(/on 2 devices, needs about 41\.9 MB on Chromium, whose limit is 31\.5 MB/);
  });
});
