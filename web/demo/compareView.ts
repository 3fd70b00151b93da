/** The original and the result on top of each other, with a line between them that can be moved. */
import { canvasOf, toImageData } from '../picture.ts';
import type { Planes } from '../tiles.ts';
import { createElement } from './createElement.ts';

/** Sides and areas beyond which browsers give an empty canvas. */
const canvasLimits = { side: 16_384, area: 268_435_456 } as const;

export interface CompareView {
  readonly element: HTMLElement;
  /** The result as it stands. */
  readonly canvas: HTMLCanvasElement;
  /** Puts a finished part in its place. */
  place(part: Planes & { readonly top: number; readonly left: number }): void;
  /** All parts are there: from now on the two can be compared. */
  finish(): void;
}

export function fitsCanvas(width: number, height: number): boolean {
  return width <= canvasLimits.side && height <= canvasLimits.side && width * height <= canvasLimits.area;
}

export function createCompareView(picture: Planes, scale: number): CompareView {
  const original = canvasOf(picture.width, picture.height);
  original.className = 'original';
  original.getContext('2d')?.putImageData(toImageData(picture), 0, 0);
  const canvas = canvasOf(picture.width * scale, picture.height * scale);
  canvas.className = 'result';
  const context = canvas.getContext('2d');
  const slider = createElement('input', {
    type: 'range',
    min: 0,
    max: 100,
    step: 0.5,
    value: 50,
    'aria-label': 'Where the original ends and the result begins, in percent',
  });
  const element = createElement(
    'figure',
    { class: 'compare', 'data-state': 'working' },
    original,
    canvas,
    createElement('span', { class: 'divider', 'aria-hidden': 'true' }),
    createElement('span', { class: 'side left', 'aria-hidden': 'true' }, 'Original'),
    createElement('span', { class: 'side right', 'aria-hidden': 'true' }, `Result, ${scale} times as large`),
    slider,
  );
  element.style.setProperty('--ratio', String(picture.width / picture.height));
  const split = () => element.style.setProperty('--split', `${slider.value}%`);
  slider.addEventListener('input', split);
  return {
    element,
    canvas,
    place: (part) => context?.putImageData(toImageData(part), part.left, part.top),
    finish() {
      element.dataset['state'] = 'done';
      split();
    },
  };
}
