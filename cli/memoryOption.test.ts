import { expect, it } from 'vitest';
import { parseMemory } from './memoryOption.ts';

it('reads one limit or several, in decimal and binary units', () => {
  expect(parseMemory('64MB')).toEqual([64e6]);
  expect(parseMemory('1.5GiB,64MiB')).toEqual([1.5 * 2 ** 30, 64 * 2 ** 20]);
});

it.each(['64', '0MB', '-1MB', '64mb', '64MB,', ''])('refuses %j with an example', (text) => {
  expect(() => parseMemory(text)).toThrow(/like 64MB/);
});
