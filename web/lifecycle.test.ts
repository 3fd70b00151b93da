import { describe, expect, it } from 'vitest';
import { watchLifecycle } from './lifecycle.ts';

/** A document and window that can be hidden, frozen and closed, and a screen that can be kept on. */
function page(mobile: boolean) {
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const locks = { held: 0 };
  const wakeLock = {
    request: async () => {
      locks.held++;
      return {
        release: async () => {
          locks.held--;
        },
      };
    },
  };
  const window = Object.assign(new EventTarget(), { navigator: { wakeLock } });
  const seen: (boolean | 'left')[] = [];
  const end = watchLifecycle(
    { document: document as unknown as Document, window: window as unknown as Window, mobile },
    { onMayStop: (mayStop) => seen.push(mayStop), onLeave: () => seen.push('left') },
  );
  const show = (visibilityState: 'visible' | 'hidden') => {
    document.visibilityState = visibilityState;
    document.dispatchEvent(new Event('visibilitychange'));
  };
  return { document, window, locks, seen, end, show };
}

describe('watchLifecycle', () => {
  it('says that a hidden phone may stop, and a hidden desktop tab does not', () => {
    for (const mobile of [true, false]) {
      const { seen, show, end } = page(mobile);
      show('hidden');
      show('visible');
      expect(seen).toEqual([false, mobile, false]);
      end();
    }
  });

  it('says that a frozen tab may stop until it resumes, and when the page goes away', () => {
    const { document, window, seen } = page(false);
    document.dispatchEvent(new Event('freeze'));
    document.dispatchEvent(new Event('resume'));
    window.dispatchEvent(new Event('pagehide'));
    expect(seen).toEqual([false, true, false, 'left']);
  });

  it('keeps the screen on until the watch ends, after which nothing is heard', async () => {
    const { locks, seen, end, show } = page(true);
    await Promise.resolve();
    expect(locks.held).toBe(1);
    end();
    show('hidden');
    await Promise.resolve();
    expect(locks.held).toBe(0);
    expect(seen).toEqual([false]);
  });
});
