/** Runs asynchronous work one piece at a time, in the order of the calls; a failure stops nobody else. */

export type SerialQueue = <T>(work: () => T | Promise<T>) => Promise<T>;

export function serialQueue(): SerialQueue {
  let tail: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = tail.then(work);
    tail = result.catch(() => undefined);
    return result;
  };
}
