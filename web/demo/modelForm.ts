/** What a person may choose before a model is compiled: shards, axis, and the lengths that the model leaves open. */
import type { DivisionAxis } from '../../protocol/compileChoices.ts';
import type { CompileWishes, ModelSignature } from '../../workers/compileApi.ts';
import { createElement } from './createElement.ts';
import { openLengths, shapesOf } from './openLengths.ts';

export type ModelWishes = Pick<CompileWishes, 'numShards' | 'axis'> & {
  readonly shapes: Record<string, readonly number[]>;
};

export interface ModelFormOptions {
  readonly signature: ModelSignature;
  /** Devices that are there now. */
  readonly devices: number;
  readonly maxShards: number;
  onCompile(wishes: ModelWishes): void;
  onCancel(): void;
}

const axes: readonly (readonly [axis: DivisionAxis, label: string])[] = [
  ['channels', 'Channels: weights are divided too'],
  ['rows', 'Rows: less is exchanged, all weights on every device'],
  ['auto', 'Whatever is predicted to be fastest (takes longer)'],
];

export function createModelForm(options: ModelFormOptions): HTMLElement {
  const { signature, devices, maxShards, onCompile, onCancel } = options;
  const shards = createElement('input', {
    type: 'number',
    id: 'model-shards',
    min: 1,
    max: maxShards,
    value: Math.min(maxShards, Math.max(1, devices)),
    required: true,
  });
  const axis = createElement(
    'select',
    { id: 'model-axis' },
    ...axes.map(([value, label]) => createElement('option', { value }, label)),
  );
  const lengths = openLengths(signature.inputs).map((length) => {
    const field = createElement('input', {
      type: 'number',
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
    labelled('Shards', shards),
    labelled('Divided by', axis),
    ...lengths.map(({ length, field }) => labelled(length.label, field)),
    createElement(
      'div',
      { class: 'actions' },
      createElement('button', { type: 'submit', class: 'button', id: 'compile' }, 'Compile and load'),
      cancelButton(onCancel),
    ),
  );
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = lengths.map(({ length, field }) => ({ ...length, value: field.valueAsNumber }));
    onCompile({
      numShards: shards.valueAsNumber,
      axis: axes.find(([value]) => value === axis.value)?.[0] ?? 'channels',
      shapes: shapesOf(signature.inputs, given),
    });
  });
  return form;
}

function labelled(text: string, field: HTMLElement): HTMLElement {
  return createElement('label', { class: 'field' }, createElement('span', {}, text), field);
}

function cancelButton(onCancel: () => void): HTMLButtonElement {
  const button = createElement('button', { type: 'button', class: 'quiet' }, 'Cancel');
  button.addEventListener('click', onCancel);
  return button;
}
