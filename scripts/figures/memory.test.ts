import { expect, test } from 'vitest';
import { memoryLines } from './memory.ts';

const device = (shards: readonly number[], predictedMib: number, measuredMib: number) => ({
  model: 'net',
  axis: 'channels' as const,
  shards,
  predicted: { heapBytes: predictedMib * 2 ** 20, weightBytes: 0, activationBytes: 0 },
  loadedBytes: 0,
  measuredBytes: measuredMib * 2 ** 20,
});

test('one line a room, of the device that needs most; the limit lies between one and two devices', () => {
  const results = [device([0, 1], 110, 100), device([0], 50, 60), device([1], 55, 50)];
  const text = memoryLines({ results, commit: 'abc', changed: false, date: '2026-01-02' }).join('\n');
  expect(text).toContain('| net | channels | 1 | 110.0 | 100.0 | 10.0 % |');
  expect(text).toContain('| net | channels | 2 | 50.0 | 60.0 | -16.7 % |');
  expect(text).toContain('off by 16.7 % at most');
  expect(text).toContain('at a limit of 80.0 MiB net by channels fits 2 Workers and not one');
});

test('no limit is named where two devices save nothing', () => {
  const results = [device([0, 1], 100, 100), device([0], 100, 101), device([1], 99, 99)];
  expect(
    memoryLines({ results, commit: 'abc', changed: false, date: '2026-01-02' }).join('\n'),
  ).not.toContain('limit of');
});
