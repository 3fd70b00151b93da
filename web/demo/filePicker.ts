/** A button that lets a person choose one file or several, and hands them over; the same may be chosen again. */
import { createElement } from './createElement.ts';

export interface FilePickerOptions {
  readonly id: string;
  readonly label: string;
  readonly accept: string;
  readonly quiet?: boolean;
  readonly several?: boolean;
  /** `all`: everything that was chosen, the first file too. */
  onFile(file: File, all: readonly File[]): void;
}

export function createFilePicker({
  id,
  label,
  accept,
  quiet,
  several = false,
  onFile,
}: FilePickerOptions): HTMLElement {
  const input = createElement('input', {
    type: 'file',
    accept,
    id,
    multiple: several,
    class: 'visually-hidden',
  });
  input.addEventListener('change', () => {
    const files = [...(input.files ?? [])];
    input.value = '';
    const [first] = files;
    if (first !== undefined) onFile(first, files);
  });
  // A label like a button, of the visually hidden input before it.
  const button = createElement('label', { for: id, class: quiet === true ? 'button soft' : 'button' }, label);
  return createElement('span', { class: 'picker' }, input, button);
}
