import { describe, expect, it } from 'vitest';
import { DevicesPerInstance } from './devicesPerInstance.ts';

describe('devices per instance', () => {
  it('is one while one alone keeps the objective', () => {
    const choice = new DevicesPerInstance(null);
    choice.reset(4);
    expect(choice.measured(70, 80)).toBe(false);
    expect(choice.current).toBe(1);
  });

  it('doubles while the objective is missed, and ends at the first that keeps it', () => {
    const choice = new DevicesPerInstance(null);
    choice.reset(5);
    expect(choice.measured(200, 80)).toBe(true);
    expect(choice.current).toBe(2);
    expect(choice.measured(120, 80)).toBe(true);
    expect(choice.current).toBe(4);
    expect(choice.measured(75, 80)).toBe(false);
    expect(choice.current).toBe(4);
  });

  it('is the fastest where none keeps the objective', () => {
    const choice = new DevicesPerInstance(null);
    choice.reset(3);
    for (const p95Ms of [200, 150]) choice.measured(p95Ms, 80);
    expect(choice.current).toBe(3);
    expect(choice.measured(300, 80)).toBe(true);
    expect(choice.current).toBe(2);
    expect(choice.measured(150, 80)).toBe(false);
  });

  it('is another where no such instance can be made', () => {
    const choice = new DevicesPerInstance(null);
    choice.reset(2);
    expect(choice.refused()).toBe(true);
    expect(choice.current).toBe(2);
    expect(new DevicesPerInstance(1).refused()).toBe(false);
  });
});
