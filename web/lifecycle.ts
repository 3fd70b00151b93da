/**
 * What a phone does to a tab: locks the screen, hides it, freezes it, closes it. Keeps the screen on where that is
 * allowed and says when the device may stop; the room decides what follows.
 */

export interface LifecycleTarget {
  readonly document: Document;
  readonly window: Window;
  /** On a desktop a hidden tab computes on; on a phone it is stopped within seconds. */
  readonly mobile: boolean;
}

export interface LifecycleEvents {
  /** The device may stop at any moment, or no longer. */
  onMayStop(mayStop: boolean): void;
  /** The page goes away now: last moment to say goodbye. */
  onLeave(): void;
}

/** Returns what ends the watch and gives the screen back. */
export function watchLifecycle(target: LifecycleTarget, events: LifecycleEvents): () => void {
  const { document, window, mobile } = target;
  const ended = new AbortController();
  const { signal } = ended;
  let frozen = false;
  let lock: WakeLockSentinel | null = null;

  const report = () => events.onMayStop(frozen || (mobile && document.visibilityState === 'hidden'));

  /** The browser drops the lock whenever the page is hidden, so it is asked for again each time. */
  const keepAwake = async () => {
    // Only there in a secure context.
    const wakeLock = window.navigator.wakeLock as WakeLock | undefined;
    if (wakeLock === undefined || document.visibilityState !== 'visible') return;
    try {
      const next = await wakeLock.request('screen');
      if (signal.aborted) void next.release();
      else lock = next;
    } catch {
      // Refused, with a low battery for instance: the screen may lock, and the room copes.
    }
  };

  document.addEventListener(
    'visibilitychange',
    () => {
      report();
      void keepAwake();
    },
    { signal },
  );
  document.addEventListener(
    'freeze',
    () => {
      frozen = true;
      report();
    },
    { signal },
  );
  document.addEventListener(
    'resume',
    () => {
      frozen = false;
      report();
    },
    { signal },
  );
  window.addEventListener('pagehide', () => events.onLeave(), { signal });
  report();
  void keepAwake();
  return () => {
    ended.abort();
    void lock?.release().catch(() => undefined);
  };
}
