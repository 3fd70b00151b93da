import { describe, expect, it } from 'vitest';
import { StarlingError } from '../../protocol/errors.ts';
import { Overloaded } from './overloaded.ts';
import { RequestQueue } from './requestQueue.ts';
import { VirtualClock } from './testing/virtualClock.ts';

const one = { items: 1, key: '' };

function queueOf(capacity = 100) {
  const clock = new VirtualClock();
  const queue = new RequestQueue<string, string>({
    refusal: () => null,
    capacity,
    clock,
    expectedWaitMs: () => 70,
    onChange: () => undefined,
  });
  const heard: string[] = [];
  const add = (run: string, options: Parameters<typeof queue.add>[2] = {}, shape = one) => {
    queue.add(run, shape, options).then(
      (answer) => heard.push(answer),
      (error: unknown) => heard.push(`${run} ${error instanceof StarlingError ? error.code : 'other'}`),
    );
  };
  const names = (maxItems: number) => queue.take(maxItems).map(({ run }) => run);
  return { clock, queue, heard, add, names };
}

describe('RequestQueue', () => {
  it('lets callers take turns, however many runs one of them has', () => {
    const { add, names } = queueOf();
    for (let i = 0; i < 6; i++) add(`a${i}`, { caller: 'a' });
    add('b0', { caller: 'b' });
    add('b1', { caller: 'b' });
    expect(names(4)).toEqual(['a0', 'b0', 'a1', 'b1']);
    add('c0', { caller: 'c' });
    expect(names(2)).toEqual(['a2', 'c0']);
  });

  it('forms batches of one shape with at most so many items, and keeps the order of each caller', () => {
    const { add, names } = queueOf();
    add('a0', { caller: 'a' }, { items: 2, key: 'x' });
    add('a1', { caller: 'a' }, { items: 1, key: 'y' });
    add('a2', { caller: 'a' }, { items: 2, key: 'x' });
    add('b0', { caller: 'b' }, { items: 3, key: 'x' });
    add('b1', { caller: 'b' }, { items: 1, key: 'x' });
    expect(names(4)).toEqual(['a0']);
    expect(names(4)).toEqual(['b0', 'b1']);
    expect(names(4)).toEqual(['a1']);
    expect(names(4)).toEqual(['a2']);
    expect(names(4)).toEqual([]);
  });

  it('gives a run that is larger than the batch by itself', () => {
    const { add, names } = queueOf();
    add('large', {}, { items: 9, key: '' });
    add('small');
    expect(names(4)).toEqual(['large']);
    expect(names(4)).toEqual(['small']);
  });

  it('answers a caller in the order in which it asked', async () => {
    const { clock, queue, heard, add } = queueOf();
    for (const run of ['a0', 'a1', 'a2']) add(run, { caller: 'a' });
    const [first, second, third] = queue.take(3);
    third?.settle('a2');
    second?.settle('a1');
    await clock.advance(1);
    expect(heard).toEqual([]);
    first?.settle('a0');
    await clock.advance(1);
    expect(heard).toEqual(['a0', 'a1', 'a2']);
  });

  it('answers runs without a caller as they come', async () => {
    const { clock, queue, heard, add } = queueOf();
    for (const run of ['x', 'y']) add(run);
    const [, second] = queue.take(2);
    second?.settle('y');
    await clock.advance(1);
    expect(heard).toEqual(['y']);
  });

  it('ends waiting and running runs at their deadline, and those behind them go on', async () => {
    const { clock, queue, heard, add } = queueOf();
    add('a0', { caller: 'a', deadlineMs: 50 });
    add('a1', { caller: 'a' });
    const [, second] = queue.take(2);
    second?.settle('a1');
    add('late', { deadlineMs: 50 });
    await clock.advance(49);
    expect(heard).toEqual([]);
    await clock.advance(2);
    expect(heard).toEqual(['a0 RUN_TIMEOUT', 'a1', 'late RUN_TIMEOUT']);
    expect(queue.length).toBe(0);
  });

  it('removes a run that is called off', async () => {
    const { clock, queue, heard, add, names } = queueOf();
    const controller = new AbortController();
    add('gone', { signal: controller.signal });
    add('stays');
    controller.abort();
    add('never', { signal: controller.signal });
    await clock.advance(1);
    expect(heard).toEqual(['gone RUN_ABORTED', 'never RUN_ABORTED']);
    expect(queue.items).toBe(1);
    expect(names(4)).toEqual(['stays']);
  });

  it('refuses what has no room, and says how long that may last', async () => {
    const { clock, queue, heard, add } = queueOf(2);
    add('a0');
    add('a1');
    add('a2');
    await expect(queue.add('a3', one)).rejects.toSatisfy(
      (error) => error instanceof Overloaded && error.code === 'OVERLOADED' && error.expectedWaitMs === 70,
    );
    await clock.advance(1);
    expect(heard).toEqual(['a2 OVERLOADED']);
  });

  it('makes room for a caller with less than its share', async () => {
    const { clock, heard, add, names } = queueOf(4);
    for (const run of ['a0', 'a1', 'a2', 'a3']) add(run, { caller: 'a' });
    add('b0', { caller: 'b' });
    add('b1', { caller: 'b' });
    add('b2', { caller: 'b' });
    await clock.advance(1);
    expect(heard).toEqual(['a3 OVERLOADED', 'a2 OVERLOADED', 'b2 OVERLOADED']);
    expect(names(9)).toEqual(['a0', 'b0', 'a1', 'b1']);
  });

  it('tries the runs of a failed batch again one by one, first in line', () => {
    const { queue, add, names } = queueOf();
    for (const run of ['a', 'b', 'c']) add(run);
    const batch = queue.take(2);
    queue.putBack(batch);
    expect(names(4)).toEqual(['a']);
    expect(names(4)).toEqual(['b']);
    expect(names(4)).toEqual(['c']);
  });
});
