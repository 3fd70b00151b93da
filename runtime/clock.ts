/** Time as an argument: what runs on a clock can be tested without waiting. */

export interface Clock {
  /** Milliseconds; only differences mean anything. */
  now(): number;
  /** Calls back once after `ms`, unless the returned function is called first. */
  after(ms: number, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
