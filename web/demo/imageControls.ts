/** How a picture becomes a model's input: its place on the input's size, the order of its colours, its normalisation. */
import type { Fit } from '../pictureFit.ts';
import { fitLabels } from '../pictureFit.ts';
import {
  type ColourOrder,
  type ImageLayout,
  type Normalisation,
  type NormalisationName,
  normalisations,
} from '../tensorImages.ts';
import { createElement } from './createElement.ts';

export interface ImageControls {
  readonly element: HTMLElement;
  read(): { readonly fit: Fit; readonly normalisation: Normalisation; readonly colours: ColourOrder };
}

/** `pixels`: the model takes bytes, and what they mean is its own affair. `onFit`: the picture has to be drawn anew. */
export function createImageControls(layout: ImageLayout, pixels: boolean, onFit: () => void): ImageControls {
  const fits = Object.keys(fitLabels) as Fit[];
  const fit = select('fit', 'Place', fits, (value) => fitLabels[value]);
  const names = Object.keys(normalisations) as NormalisationName[];
  const range = select('normalisation', 'Values of a pixel', names, (value) => normalisations[value].label);
  const orders: readonly ColourOrder[] = ['RGB', 'BGR'];
  const colours = select('colours', 'Colours', orders, (value) => value);
  fit.field.addEventListener('change', onFit);
  if (pixels) range.field.value = 'pixels';
  range.element.hidden = pixels;
  colours.element.hidden = layout.channels === 1;
  const kind = pixels ? ', as 8-bit pixels' : '';
  return {
    element: createElement(
      'div',
      { class: 'actions controls' },
      fit.element,
      range.element,
      colours.element,
      createElement(
        'p',
        { class: 'hint' },
        `Pictures are brought to ${layout.width} × ${layout.height}${kind}.`,
      ),
    ),
    read: () => ({ fit: fit.read(), normalisation: normalisations[range.read()], colours: colours.read() }),
  };
}

function select<Value extends string>(
  control: string,
  label: string,
  values: readonly Value[],
  labelOf: (value: Value) => string,
) {
  const field = createElement(
    'select',
    { 'data-control': control },
    ...values.map((value) => createElement('option', { value }, labelOf(value))),
  );
  const element = createElement(
    'label',
    { class: 'control' },
    createElement('span', { class: 'hint' }, label),
    field,
  );
  return { element, field, read: () => field.value as Value };
}
