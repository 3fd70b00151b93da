/** Time as an argument, so that tests decide when it passes. */
export interface Clock {
  /** Milliseconds; only differences mean anything. */
  now(): number;
  /** Calls `action` once after `ms` milliseconds; the returned function calls it off. */
  after(ms: number, action: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, action) {
    const timer = setTimeout(action, ms);
    return () => clearTimeout(timer);
  },
};
