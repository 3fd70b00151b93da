/** What a person sees while a model is read, compiled and given to the devices: a bar, a sentence, and Cancel. */
import type { CompileStep } from '../../protocol/compileChoices.ts';
import type { ModelProgress } from '../room.ts';
import { createElement } from './createElement.ts';

export interface ModelWaiting {
  readonly element: HTMLElement;
  show(progress: ModelProgress): void;
}

export function createModelWaiting(onCancel: () => void): ModelWaiting {
  const bar = createElement('progress', { max: 1, 'aria-label': 'Progress' });
  const line = createElement('p', { class: 'line', role: 'status' });
  const cancel = createElement('button', { type: 'button', class: 'quiet', id: 'cancel-model' }, 'Cancel');
  cancel.addEventListener('click', onCancel);
  return {
    element: createElement('div', { class: 'progress' }, bar, line, cancel),
    show(progress) {
      const [sentence, part] = inWords(progress);
      line.textContent = sentence;
      if (part === null) bar.removeAttribute('value');
      else bar.value = part;
    },
  };
}

const steps: { readonly [Step in CompileStep]: readonly [sentence: string, part: number] } = {
  load: ['Reading the model.', 0.05],
  normalise: ['Working out shapes and constants.', 0.1],
  divide: ['Dividing it over the shards.', 0.25],
  lower: ['Working out what is exchanged.', 0.35],
  emit: ['Writing the parts.', 0.45],
};

/** Compiling is the first half of the bar, giving the devices their parts the second. */
function inWords(progress: ModelProgress): readonly [sentence: string, part: number | null] {
  if (progress.phase === 'compile') return steps[progress.step];
  if (progress.phase === 'read') return ['Reading the file.', null];
  const percent = Math.round(100 * progress.progress);
  return [`The devices take their parts, ${percent} %.`, 0.5 + 0.5 * progress.progress];
}
