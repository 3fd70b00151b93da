/** Errors and warnings as sentences with their code; one line per code, the newest, and each can be put away. */
import { type ErrorCode, StarlingError } from '../../protocol/errors.ts';
import { createElement } from './createElement.ts';

export interface Messages {
  error(thrown: unknown): void;
  /** All, or those with one code. */
  clear(code?: ErrorCode): void;
}

export function createMessages(root: HTMLElement): Messages {
  const clear = (code?: ErrorCode) => {
    for (const shown of [...root.children]) {
      if (code === undefined || shown.getAttribute('data-code') === code) shown.remove();
    }
  };
  return {
    error(thrown) {
      const { code, message } = StarlingError.from(thrown, 'INTERNAL');
      const key = `${code}: ${message}`;
      for (const shown of root.children) if (shown.getAttribute('data-key') === key) return;
      clear(code);
      const close = createElement(
        'button',
        { type: 'button', class: 'close', 'aria-label': 'Put this message away' },
        '×',
      );
      const line = createElement(
        'p',
        { class: 'message', 'data-key': key, 'data-code': code },
        createElement('span', {}, message),
        createElement('code', {}, code),
        close,
      );
      close.addEventListener('click', () => line.remove());
      root.append(line);
    },
    clear,
  };
}
