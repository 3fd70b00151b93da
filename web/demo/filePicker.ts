/** A button that lets a person choose one file, and hands it over; the same file may be chosen again. */
import { createElement } from './createElement.ts';

export interface FilePickerOptions {
  readonly id: string;
  readonly label: string;
  readonly accept: string;
  readonly quiet?: boolean;
  onFile(file: File): void;
}

export function createFilePicker({ id, label, accept, quiet, onFile }: FilePickerOptions): HTMLElement {
  const input = createElement('input', { type: 'file', accept, id, class: 'visually-hidden' });
  input.addEventListener('change', () => {
    const file = input.files?.[0];
    input.value = '';
    if (file !== undefined) onFile(file);
  });
  // A label like a button, of the visually hidden input before it.
  const button = createElement('label', { for: id, class: quiet === true ? 'button soft' : 'button' }, label);
  return createElement('span', { class: 'picker' }, input, button);
}
