/** A button below the result: the same picture through this device alone and through the room, and which was faster. */
import { StarlingError } from '../../protocol/errors.ts';
import type { Session } from '../session.ts';
import type { Planes } from '../tiles.ts';
import { compareDevices } from './compareDevices.ts';
import { createElement } from './createElement.ts';
import type { Messages } from './messages.ts';
import { comparison, plural } from './sentences.ts';

export interface ComparePanelOptions {
  readonly messages: Messages;
  session(): Promise<Session>;
}

export interface ComparePanel {
  readonly element: HTMLElement;
  /** Offers to compare; nothing to compare where only one device took part. */
  show(picture: Planes, devices: number): void;
  /** Also stops what is going on. */
  hide(): void;
}

export function createComparePanel({ messages, session }: ComparePanelOptions): ComparePanel {
  const button = createElement('button', { type: 'button', class: 'quiet', id: 'compare' });
  const line = createElement('p', { class: 'line', role: 'status', id: 'comparison' });
  const element = createElement('div', { class: 'actions comparison', hidden: true }, button, line);
  let offered: Planes | null = null;
  let running: AbortController | null = null;

  const stop = () => {
    running?.abort();
    running = null;
    button.textContent = 'Compare with one device';
    line.textContent = '';
  };

  const compare = async (picture: Planes) => {
    const own = new AbortController();
    running = own;
    button.textContent = 'Stop comparing';
    line.textContent = 'This device loads the whole network.';
    try {
      const { aloneMs, roomMs, devices } = await compareDevices(await session(), picture, {
        signal: own.signal,
        onProgress(done, total) {
          const turn = done <= total / 2 ? 'This device alone' : 'All devices together';
          line.textContent = `${turn}: ${done} of ${plural(total, 'tile')}`;
        },
      });
      stop();
      line.textContent = comparison(aloneMs, roomMs, devices);
    } catch (thrown) {
      if (own.signal.aborted) return;
      stop();
      messages.error(StarlingError.from(thrown, 'RUN_FAILED'));
    }
  };

  button.addEventListener('click', () => {
    if (running !== null) stop();
    else if (offered !== null) void compare(offered);
  });
  return {
    element,
    show(picture, devices) {
      stop();
      offered = picture;
      element.hidden = devices < 2;
    },
    hide() {
      stop();
      offered = null;
      element.hidden = true;
    },
  };
}
