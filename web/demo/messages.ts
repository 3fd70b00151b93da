/** Errors and warnings as sentences with their code; one line per sentence, and each can be put away. */
import { StarlingError } from '../../protocol/errors.ts';
import { createElement } from './createElement.ts';

export interface Messages {
  error(thrown: unknown): void;
  clear(): void;
}

export function createMessages(root: HTMLElement): Messages {
  return {
    error(thrown) {
      const { code, message } = StarlingError.from(thrown, 'INTERNAL');
      const key = `${code}: ${message}`;
      for (const shown of root.children) if (shown.getAttribute('data-key') === key) return;
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
    clear: () => root.replaceChildren(),
  };
}
