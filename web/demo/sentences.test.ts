import { describe, expect, it } from 'vitest';
import type { DeviceView } from '../deviceView.ts';
import { comparison, deviceDetails, deviceState, formatBytes, formatTime, plural } from './sentences.ts';

const device: DeviceView = {
  id: 'a',
  name: 'Firefox on Linux',
  self: false,
  host: false,
  shards: [0, 1, 2],
  state: 'ready',
  progress: 1,
  reason: null,
  backend: { kind: 'wasm', threads: 2, reason: '' },
  path: 'relay',
  roundTripMs: 3.14,
  heapBytes: null,
};

describe('sentences', () => {
  it.each([
    [3900, 3100, 2, 'One device 3.9 s, 2 devices 3.1 s: the room is 1.26 times as fast.'],
    [2000, 3000, 3, 'One device 2.0 s, 3 devices 3.0 s: the room takes 1.50 times as long.'],
    [2000, 2001, 2, 'One device 2.0 s, 2 devices 2.0 s: no difference.'],
    [2000, 2001, 1, 'The other devices have left; there is nothing to compare.'],
  ])('compare %s ms with %s ms on %s devices', (aloneMs, roomMs, devices, sentence) => {
    expect(comparison(aloneMs, roomMs, devices)).toBe(sentence);
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1500, '1.5 kB'],
    [999_900, '1.0 MB'],
    [209e6, '209 MB'],
    [3e12, '3000 GB'],
  ])('%d bytes are %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [12.4, '12 ms'],
    [1234, '1.2 s'],
    [61_000, '61 s'],
    [150_000, '2 min 30 s'],
  ])('%d ms are %s', (ms, text) => expect(formatTime(ms)).toBe(text));

  it('say what a device does', () => {
    expect(deviceState(device)).toBe('Shards 1 to 3');
    expect(deviceState({ ...device, shards: [2, 3] })).toBe('Shards 3 and 4');
    expect(deviceState({ ...device, shards: [0] })).toBe('Shard 1');
    expect(deviceState({ ...device, state: 'loading', progress: 0.406 })).toBe('Loading 41 %');
    expect(deviceState({ ...device, state: 'loading', progress: 1 })).toBe('Trying it out');
    expect(deviceDetails(device)).toBe('WASM, 2 threads · relayed · 3.1 ms away');
    expect(plural(1, 'tile')).toBe('1 tile');
  });
});
