/** The room: its name, the link and QR code that bring another device into it, and whom one has to trust. */
import { renderSVG } from 'uqr';
import { createElement } from './createElement.ts';

export interface RoomPanelOptions {
  readonly room: string;
  readonly link: string;
  readonly trust: 'secret' | 'server';
  onPrivateRoom(): void;
}

export function showRoomPanel(
  root: HTMLElement,
  { room, link, trust, onPrivateRoom }: RoomPanelOptions,
): void {
  const address = createElement('input', {
    type: 'text',
    readonly: true,
    value: link,
    'aria-label': 'Link to this room',
    id: 'share-link',
  });
  address.addEventListener('focus', () => address.select());
  const copy = createElement('button', { type: 'button', class: 'quiet' }, 'Copy link');
  copy.addEventListener('click', () => void copyText(address, copy));

  const picture = createElement('div', { class: 'qr', role: 'img', 'aria-label': 'QR code of the link' });
  // Our own encoder's output, made from an address: no foreign markup.
  picture.innerHTML = renderSVG(link, { border: 2, ecc: 'L' });

  const local = ['localhost', '127.0.0.1', '[::1]'].includes(new URL(link).hostname);
  const note = local
    ? 'This link works on this machine only. For a code that other devices can scan, open the page by the network address that was printed at the start.'
    : 'Open this link on another device, or point its camera at the code.';

  const secretNote =
    trust === 'secret'
      ? createElement(
          'p',
          { class: 'trust' },
          'The link carries a secret that the signaling server never sees: only who has the link can take part.',
        )
      : createElement(
          'p',
          { class: 'trust' },
          'This room has no secret, so the signaling server is trusted: whoever runs it could take part.',
        );
  const fresh = createElement('button', { type: 'button', class: 'quiet' }, 'New private room');
  fresh.addEventListener('click', onPrivateRoom);

  root.replaceChildren(
    createElement('h2', { id: 'room-title' }, 'Room ', createElement('span', { class: 'room-name' }, room)),
    createElement(
      'div',
      { class: local ? 'share local' : 'share' },
      // A camera would bring another device to itself.
      local ? null : picture,
      createElement('div', {}, createElement('p', {}, note), address, copy),
    ),
    createElement('div', { class: 'trust-row' }, secretNote, trust === 'server' ? fresh : null),
  );
}

async function copyText(field: HTMLInputElement, button: HTMLButtonElement): Promise<void> {
  field.select();
  try {
    // Only there in a secure context; elsewhere the text is selected for the person to copy.
    await navigator.clipboard.writeText(field.value);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Selected: press Ctrl+C';
  }
  setTimeout(() => {
    button.textContent = 'Copy link';
  }, 2_000);
}
