/** What a person may choose before a model is compiled: shards, axis, 8-bit ends, and the lengths that the model leaves open. */
import type { DivisionAxis } from '../../protocol/compileChoices.ts';
import type { CompileWishes, ModelSignature } from '../../workers/compileApi.ts';
import { createElement } from './createElement.ts';
import { openLengths, shapesOf } from './openLengths.ts';
import {
  type Choice,
  type PixelInputChoice,
  type PixelOutputChoice,
  pixelChoices,
  pixelOptions,
} from './pixelChoices.ts';

export type ModelWishes = Pick<CompileWishes, 'numShards' | 'axis' | 'pixels'> & {
  readonly shapes: Record<string, readonly number[]>;
};

export interface ModelFormOptions {
  readonly signature: ModelSignature;
  /** Devices that are there now. */
  readonly devices: number;
  readonly maxShards: number;
  /** What was filled in the last time, where the person is asked again. */
  readonly filled?: FormData | undefined;
  onCompile(wishes: ModelWishes, filled: FormData): void;
  onCancel(): void;
}

interface AxisChoice extends Choice<DivisionAxis> {
  readonly hint: string;
}

const axes: readonly AxisChoice[] = [
  {
    value: 'rows',
    label: 'Rows',
    hint: 'Every device computes a strip and holds all weights; little is exchanged.',
  },
  {
    value: 'channels',
    label: 'Channels',
    hint: 'Weights and memory are divided too; more is exchanged.',
  },
  {
    value: 'auto',
    label: 'Whatever is fastest',
    hint: 'Tries many divisions and takes the one that is predicted to be fastest; compiling takes longer.',
  },
];

export function createModelForm(options: ModelFormOptions): HTMLElement {
  const { signature, devices, maxShards, filled, onCompile, onCancel } = options;
  const shards = createElement('input', {
    type: 'number',
    id: 'model-shards',
    name: 'shards',
    min: 1,
    max: maxShards,
    // Of one shard, a device that joins later could take no part.
    value: Math.min(maxShards, Math.max(2, devices)),
    required: true,
  });
  const axis = createSelect('axis', axes);
  const axisHint = createElement('p', { class: 'hint' });
  const explainAxis = () => {
    axisHint.textContent = axes.find(({ value }) => value === axis.read())?.hint ?? '';
  };
  axis.field.addEventListener('change', explainAxis);
  const { input, output } = pixelChoices(signature);
  const pixelsIn = input === null ? null : createSelect<PixelInputChoice>('pixels-in', input.choices);
  const pixelsOut = output === null ? null : createSelect<PixelOutputChoice>('pixels-out', output.choices);
  const lengths = openLengths(signature.inputs).map((length) => {
    const field = createElement('input', {
      type: 'number',
      name: `length ${length.input} ${length.axis}`,
      min: 1,
      step: 1,
      required: true,
      value: length.proposal,
      'data-input': length.input,
      'data-axis': length.axis,
    });
    return { length, field };
  });
  const form = createElement(
    'form',
    { class: 'model-form' },
    labelled(
      'Shards',
      shards,
      createElement('p', { class: 'hint' }, 'Parts of every layer; a device holds one or more.'),
    ),
    labelled('Divided by', axis.field, axisHint),
    input === null || pixelsIn === null ? null : labelled(`“${input.name}” travels as`, pixelsIn.field),
    output === null || pixelsOut === null
      ? null
      : labelled(`“${output.name}” comes back as`, pixelsOut.field),
    ...lengths.map(({ length, field }) => labelled(length.label, field)),
    createElement(
      'div',
      { class: 'actions' },
      createElement('button', { type: 'submit', class: 'button', id: 'compile' }, 'Compile and load'),
      cancelButton(onCancel),
    ),
  );
  for (const [name, value] of filled ?? []) {
    const field = form.elements.namedItem(name);
    const known = field instanceof HTMLInputElement || field instanceof HTMLSelectElement;
    if (known && typeof value === 'string') field.value = value;
  }
  explainAxis();
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = lengths.map(({ length, field }) => ({ ...length, value: field.valueAsNumber }));
    const pixels = pixelOptions(pixelsIn?.read() ?? 'none', pixelsOut?.read() ?? 'none');
    const wishes = {
      numShards: shards.valueAsNumber,
      axis: axis.read(),
      shapes: shapesOf(signature.inputs, given),
      ...(pixels === undefined ? {} : { pixels }),
    };
    onCompile(wishes, new FormData(form));
  });
  return form;
}

function createSelect<Value extends string>(name: string, choices: readonly Choice<Value>[]) {
  const field = createElement(
    'select',
    { id: `model-${name}`, name },
    ...choices.map(({ value, label }) => createElement('option', { value }, label)),
  );
  const [first] = choices;
  if (first === undefined) throw new Error(`There is nothing to choose for ${name}.`);
  return {
    field,
    read: (): Value => choices.find(({ value }) => value === field.value)?.value ?? first.value,
  };
}

function labelled(text: string, field: HTMLElement, hint: HTMLElement | null = null): HTMLElement {
  return createElement('label', { class: 'field' }, createElement('span', {}, text), field, hint);
}

export function cancelButton(onCancel: () => void): HTMLButtonElement {
  const button = createElement('button', { type: 'button', class: 'quiet' }, 'Cancel');
  button.addEventListener('click', onCancel);
  return button;
}
