/** One input of a model on the page: a picture with its normalisation where the shape is one, an .npy file, or random numbers. */
import { StarlingError } from '../../protocol/errors.ts';
import { readNpy } from '../../protocol/npy.ts';
import type { PlanValue } from '../../workers/api.ts';
import { canvasOf, decodeScaled } from '../picture.ts';
import { imageLayout, pixelsToTensor } from '../tensorImages.ts';
import { type TensorLike, toOutput } from '../tensors.ts';
import { createElement } from './createElement.ts';
import { createFilePicker } from './filePicker.ts';
import { createImageControls } from './imageControls.ts';
import { randomTensor } from './randomTensor.ts';

export interface ModelInput {
  readonly element: HTMLElement;
  readonly value: PlanValue;
  /** Takes a file that was chosen or dropped. Rejects IMAGE_UNREADABLE or INPUT_INVALID and keeps what was there. */
  take(file: File): Promise<void>;
  /** Whether a file of this name could be meant for it. */
  wants(file: File): boolean;
  /** The numbers as they are chosen now. */
  tensor(): TensorLike;
}

interface Chosen {
  readonly said: string;
  /** The file, where it is a picture. */
  readonly picture?: File;
  tensor(): TensorLike;
}

export interface ModelInputEvents {
  /** The person makes another choice. */
  onStart(): void;
  onError(thrown: unknown): void;
}

export function createModelInput(
  value: PlanValue,
  index: number,
  { onStart, onError }: ModelInputEvents,
): ModelInput {
  const { name, dataType, shape } = value;
  const numeric = dataType === 'float32' || dataType === 'uint8';
  const layout = numeric ? imageLayout(shape) : null;
  const random: Chosen = { said: 'Random numbers', tensor: () => randomTensor(value) };
  let chosen = random;
  /** Counts choices: a picture that is decoded after the next choice is not wanted any more. */
  let choices = 0;

  const said = createElement('p', { class: 'hint', role: 'status' }, random.said);
  const preview = createElement('span', { class: 'preview' });
  const controls =
    layout === null
      ? null
      : createImageControls(layout, dataType === 'uint8', () => {
          if (chosen.picture !== undefined) onFile(chosen.picture);
        });
  const choose = (next: Chosen, canvas: HTMLCanvasElement | null = null) => {
    choices++;
    chosen = next;
    said.textContent = next.said;
    preview.replaceChildren(...(canvas === null ? [] : [canvas]));
  };

  const take = async (file: File) => {
    onStart();
    if (isNpy(file)) {
      const tensor = await npyTensor(file, value);
      choose({ said: file.name, tensor: () => tensor });
      return;
    }
    if (layout === null || controls === null) {
      throw new StarlingError(
        'INPUT_INVALID',
        `Input "${name}" is no picture; give an .npy file of ${dataType} [${shape.join(', ')}].`,
      );
    }
    const choice = ++choices;
    const image = await decodeScaled(file, layout, controls.read().fit);
    if (choice !== choices) return;
    const tensor = (): TensorLike => {
      const values = pixelsToTensor(image.data, layout, controls.read());
      return { data: dataType === 'uint8' ? Uint8ClampedArray.from(values) : values, dims: shape };
    };
    const canvas = canvasOf(image.width, image.height);
    canvas.getContext('2d')?.putImageData(image, 0, 0);
    choose({ said: file.name, picture: file, tensor }, canvas);
  };
  const onFile = (file: File) => void take(file).catch(onError);

  const fill = createElement('button', { type: 'button', class: 'quiet small' }, 'Random');
  fill.addEventListener('click', () => {
    onStart();
    choose(random);
  });
  const pickers = [
    layout === null ? null : { id: `model-picture-${index}`, label: 'Picture', accept: 'image/*' },
    { id: `model-npy-${index}`, label: '.npy file', accept: '.npy' },
  ].flatMap((picker) => (picker === null ? [] : [createFilePicker({ ...picker, quiet: true, onFile })]));

  const element = createElement(
    'div',
    { class: 'model-input', 'data-input': name },
    createElement('p', { class: 'value' }, createElement('b', {}, name), ` ${dataType} ${shape.join(' × ')}`),
    createElement('div', { class: 'actions' }, ...pickers, fill),
    controls?.element ?? null,
    createElement('div', { class: 'chosen' }, preview, said),
  );
  return {
    element,
    value,
    take,
    wants: (file) => isNpy(file) || (layout !== null && file.type.startsWith('image/')),
    tensor: () => chosen.tensor(),
  };
}

function isNpy(file: File): boolean {
  return file.name.toLowerCase().endsWith('.npy');
}

async function npyTensor(file: File, { dataType }: PlanValue): Promise<TensorLike> {
  const array = readNpy(new Uint8Array(await file.arrayBuffer()), file.name);
  // NumPy's numbers are float64 unless one says otherwise.
  if (array.dataType === 'float64' && dataType === 'float32') {
    return { data: Float32Array.from(new Float64Array(array.data.slice().buffer)), dims: array.dims };
  }
  return toOutput(array);
}
