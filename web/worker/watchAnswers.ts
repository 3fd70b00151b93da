/**
 * Notices a Worker that blocks while it starts: in Firefox 153 about one of twenty that make Workers for threads does so for
 * ever, before it has asked for their script. One that fetches and compiles still answers.
 */
import { limits } from '../../protocol/limits.ts';

/** Until `starting` settles: `die` where `ask` is not answered in time. */
export function watchAnswers(
  ask: () => Promise<void>,
  starting: Promise<unknown>,
  die: (why: string) => void,
): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let started = false;
  const watch = () => {
    clearTimeout(timer);
    if (started) return;
    timer = setTimeout(
      () => die(`it has not answered for ${limits.workerAnswerMs / 1000} s while starting`),
      limits.workerAnswerMs,
    );
    // What it rejects with, `starting` rejects with too.
    ask().then(() => setTimeout(watch, limits.workerAnswerMs / 10), stop);
  };
  const stop = () => {
    started = true;
    clearTimeout(timer);
  };
  starting.then(stop, stop);
  watch();
}
