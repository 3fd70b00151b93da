/** One output of a model on the page: as the greatest values, a picture, a mask or a table, and saved as .npy. */
import { writeNpy } from '../../protocol/npy.ts';
import { canvasOf } from '../picture.ts';
import {
  argmaxMask,
  classColour,
  classMask,
  imageLayout,
  tensorToPixels,
  topValues,
} from '../tensorImages.ts';
import type { OutputTensor } from '../tensors.ts';
import { createElement } from './createElement.ts';
import { plural } from './sentences.ts';

type View = 'top' | 'image' | 'mask' | 'table';

const labels: { readonly [Name in View]: string } = {
  top: 'Greatest values',
  image: 'Picture',
  mask: 'Mask',
  table: 'Table',
};
const topCount = 10;
const tableRows = 200;
const legendRows = 12;
/** A list of more values than this is a feature map rather than scores of classes. */
const mostClasses = 100_000;

/** A map of whole numbers below this is taken for classes rather than for grey. */
const mostMaskClasses = 64;

/** The views that suit an output, the best first. */
export function viewsOf(
  { dims, type }: Pick<OutputTensor, 'dims' | 'type'>,
  values: ArrayLike<number>,
): View[] {
  const count = dims.reduce((product, dim) => product * dim, 1);
  const views: View[] = [];
  const grey = imageLayout(dims)?.channels === 1;
  if (grey && !type.startsWith('float') && classMask(values, mostMaskClasses) !== null) views.push('mask');
  if (count > 1 && count <= mostClasses && dims.every((dim) => dim === 1 || dim === count)) views.push('top');
  if (imageLayout(dims) !== null) views.push('image');
  if (imageLayout(dims, true) !== null) views.push('mask');
  return [...views, 'table'];
}

export function createModelOutput(name: string, tensor: OutputTensor): HTMLElement {
  const { dims, type } = tensor;
  const values = numbersOf(tensor);
  const views = viewsOf(tensor, values);
  const stage = createElement('div', { class: 'output-view' });
  const buttons = views.map((view) => {
    const button = createElement('button', { type: 'button', class: 'quiet small' }, labels[view]);
    button.addEventListener('click', () => show(view));
    return { view, button };
  });
  const show = (view: View) => {
    stage.dataset['view'] = view;
    for (const { view: other, button } of buttons)
      button.setAttribute('aria-pressed', String(other === view));
    stage.replaceChildren(...render[view](values, dims));
  };
  const save = createElement('button', { type: 'button', class: 'quiet small' }, 'Save as .npy');
  save.addEventListener('click', () => saveNpy(name, tensor));
  const [first = 'table'] = views;
  show(first);
  return createElement(
    'section',
    { class: 'model-output', 'data-output': name },
    createElement('p', { class: 'value' }, createElement('b', {}, name), ` ${type} ${dims.join(' × ')}`),
    createElement(
      'div',
      { class: 'actions' },
      ...(buttons.length > 1 ? buttons.map(({ button }) => button) : []),
      type === 'bfloat16' ? null : save,
    ),
    stage,
  );
}

const render: {
  readonly [Name in View]: (values: ArrayLike<number>, dims: readonly number[]) => HTMLElement[];
} = {
  top: (values) => [
    createElement(
      'ol',
      { class: 'top' },
      ...topValues(values, topCount).map(({ index, value }) =>
        createElement('li', {}, createElement('b', {}, String(index)), ` ${shown(value)}`),
      ),
    ),
  ],
  image(values, dims) {
    const layout = imageLayout(dims);
    if (layout === null) return [];
    const { rgba, range } = tensorToPixels(values, layout);
    return [
      canvasWith(rgba, layout.width, layout.height),
      createElement('p', { class: 'hint' }, `Black is ${shown(range[0])}, white ${shown(range[1])}.`),
    ];
  },
  mask(values, dims) {
    const layout = imageLayout(dims, true);
    const map = layout === null ? imageLayout(dims) : layout;
    const mask = layout === null ? classMask(values, mostMaskClasses) : argmaxMask(values, layout);
    if (map === null || mask === null) return [];
    const { width, height } = map;
    const { classes, counts } = mask;
    const colours = new Map(counts.map(([index]) => [index, classColour(index)]));
    const rgba = new Uint8ClampedArray(4 * classes.length);
    classes.forEach((index, i) => {
      rgba.set(colours.get(index) ?? [0, 0, 0], 4 * i);
      rgba[4 * i + 3] = 255;
    });
    const legend = counts.slice(0, legendRows).map(([index, pixels]) => {
      const swatch = createElement('span', { class: 'swatch' });
      swatch.style.background = `rgb(${colours.get(index)?.join(' ') ?? '0 0 0'})`;
      const percent = (100 * pixels) / classes.length;
      return createElement('li', {}, swatch, `Class ${index}: ${percent.toFixed(1)} %`);
    });
    const rest = counts.length - legend.length;
    if (rest > 0) legend.push(createElement('li', {}, `and ${rest} more`));
    return [canvasWith(rgba, width, height), createElement('ul', { class: 'legend' }, ...legend)];
  },
  table(values, dims) {
    const rows = Array.from({ length: Math.min(values.length, tableRows) }, (_, i) =>
      createElement(
        'tr',
        {},
        createElement('th', { scope: 'row' }, placeOf(i, dims).join(', ')),
        createElement('td', {}, shown(values[i] ?? 0)),
      ),
    );
    const more = values.length - rows.length;
    return [
      createElement(
        'div',
        { class: 'table' },
        createElement('table', {}, createElement('tbody', {}, ...rows)),
      ),
      ...(more > 0
        ? [
            createElement(
              'p',
              { class: 'hint' },
              `and ${plural(more, 'value')} more, all of them in the .npy file.`,
            ),
          ]
        : []),
    ];
  },
};

function canvasWith(rgba: Uint8ClampedArray<ArrayBuffer>, width: number, height: number): HTMLCanvasElement {
  const canvas = canvasOf(width, height);
  canvas.getContext('2d')?.putImageData(new ImageData(rgba, width, height), 0, 0);
  return canvas;
}

/** The indices of an element. */
function placeOf(element: number, dims: readonly number[]): number[] {
  let rest = element;
  return dims
    .toReversed()
    .map((dim) => {
      const index = rest % dim;
      rest = Math.floor(rest / dim);
      return index;
    })
    .toReversed();
}

function shown(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toPrecision(6);
}

function numbersOf({ data }: OutputTensor): ArrayLike<number> {
  return data instanceof BigInt64Array || data instanceof BigUint64Array
    ? Float64Array.from(data as ArrayLike<bigint>, Number)
    : data;
}

function saveNpy(name: string, { data, dims, type }: OutputTensor): void {
  if (type === 'bfloat16') return;
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const file = writeNpy({ dataType: type, dims, data: bytes });
  const address = URL.createObjectURL(new Blob([file as Uint8Array<ArrayBuffer>]));
  createElement('a', { href: address, download: `${name.replaceAll(/[^\w.-]+/g, '_')}.npy` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
