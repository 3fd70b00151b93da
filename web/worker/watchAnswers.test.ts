import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { limits } from '../../protocol/limits.ts';
import { watchAnswers } from './watchAnswers.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const never = new Promise<void>(() => {});

test('a Worker that answers nothing is dead in time, and not before', async () => {
  const die = vi.fn();
  watchAnswers(() => never, never, die);
  await vi.advanceTimersByTimeAsync(limits.workerAnswerMs - 1);
  expect(die).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(die).toHaveBeenCalledExactlyOnceWith('it has not answered for 10 s while starting');
});

test('one that answers may take as long as it likes, and is dead once it stops answering', async () => {
  const die = vi.fn();
  let answers = true;
  watchAnswers(() => (answers ? Promise.resolve() : never), never, die);
  await vi.advanceTimersByTimeAsync(20 * limits.workerAnswerMs);
  expect(die).not.toHaveBeenCalled();
  answers = false;
  await vi.advanceTimersByTimeAsync(2 * limits.workerAnswerMs);
  expect(die).toHaveBeenCalledTimes(1);
});

test('nobody watches one that has started or could not', async () => {
  const [die, ask] = [vi.fn(), vi.fn(() => never)];
  watchAnswers(ask, Promise.resolve(), die);
  watchAnswers(ask, Promise.reject(new Error('no backend')), die);
  await vi.advanceTimersByTimeAsync(20 * limits.workerAnswerMs);
  expect(die).not.toHaveBeenCalled();
  expect(ask).toHaveBeenCalledTimes(2);
});
