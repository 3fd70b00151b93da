/** Where a picture is put in and its enlargement comes out: choosing, progress, comparing, figures, saving. */
import { StarlingError } from '../../protocol/errors.ts';
import { decodePicture } from '../picture.ts';
import type { Session } from '../session.ts';
import type { Planes } from '../tiles.ts';
import { picturePlan, upscale } from '../upscale.ts';
import { createComparePanel } from './comparePanel.ts';
import { type CompareView, createCompareView, fitsCanvas } from './compareView.ts';
import { createElement } from './createElement.ts';
import { showFigures } from './figures.ts';
import { createFilePicker } from './filePicker.ts';
import { droppedFiles, filesOf, type GivenFile } from './givenFiles.ts';
import type { Messages } from './messages.ts';
import { isDataFile, modelFileTypes } from './modelFiles.ts';
import { samplePicture } from './samplePicture.ts';
import { plural } from './sentences.ts';

export interface WorkspaceOptions {
  readonly messages: Messages;
  /** The loaded plan; a picture that is chosen earlier waits for it. Another promise where the room was joined anew. */
  session(): Promise<Session>;
  /** Whether what was dropped, pasted or chosen is somebody else's: a model, or its inputs. */
  claim(files: readonly GivenFile[]): boolean;
}

export interface Workspace {
  open(file: Blob, name: string): Promise<void>;
  /** One line below the picture, for what happens to the run. */
  tell(sentence: string): void;
  /** Ends what is going on and shows the beginning again. */
  reset(): void;
}

export function createWorkspace(
  root: HTMLElement,
  { messages, session, claim }: WorkspaceOptions,
): Workspace {
  const input = createElement('input', {
    type: 'file',
    accept: 'image/*',
    id: 'file',
    class: 'visually-hidden',
  });
  const choose = createElement('label', { for: 'file', class: 'button' }, 'Choose a picture');
  const sample = createElement(
    'button',
    { type: 'button', class: 'quiet', id: 'sample' },
    'Try a small sample',
  );
  const model = createFilePicker({
    id: 'model-file',
    label: 'Choose a model',
    accept: modelFileTypes,
    quiet: true,
    several: true,
    onFile: (file, all) => {
      if (claim(filesOf(all))) return;
      messages.clear();
      const sentence = `“${file.name}” is no .onnx file; export your model to ONNX first.`;
      messages.error(new StarlingError('MODEL_UNREADABLE', sentence));
    },
  });
  const drop = createElement(
    'div',
    { class: 'drop' },
    createElement('p', { class: 'lead' }, 'Drop a picture here'),
    createElement(
      'p',
      { class: 'hint' },
      'It becomes four times as wide and as high. It never leaves your devices.',
    ),
    createElement(
      'p',
      { class: 'hint' },
      'Or drop a model of your own, an .onnx file (with its data file, or the whole folder): all devices run it together.',
    ),
    createElement('div', { class: 'actions' }, input, choose, sample, model),
  );
  const stage = createElement('div', { class: 'stage' }, drop);
  const bar = createElement('progress', { max: 1, value: 0, 'aria-label': 'Tiles done' });
  const line = createElement('p', { class: 'line', role: 'status' });
  const cancel = createElement('button', { type: 'button', class: 'quiet', id: 'cancel' }, 'Cancel');
  const progress = createElement('div', { class: 'progress', hidden: true }, bar, line, cancel);
  const figures = createElement('dl', { class: 'figures', hidden: true });
  const save = createElement('button', { type: 'button', class: 'button', id: 'save' }, 'Save the result');
  const again = createElement('button', { type: 'button', class: 'quiet', id: 'again' }, 'Another picture');
  const after = createElement('div', { class: 'actions after', hidden: true }, save, again);
  const compare = createComparePanel({ messages, session });
  root.append(stage, progress, figures, after, compare.element);

  let running: AbortController | null = null;
  let result: { readonly view: CompareView; readonly name: string } | null = null;

  const reset = () => {
    running?.abort();
    running = null;
    result = null;
    stage.replaceChildren(drop);
    for (const part of [progress, figures, after]) part.hidden = true;
    compare.hide();
    root.dataset['state'] = 'empty';
  };

  const enlarge = async (loaded: Session, picture: Planes, signal: AbortSignal) => {
    const { scale } = picturePlan(loaded);
    const [width, height] = [picture.width * scale, picture.height * scale];
    if (!fitsCanvas(width, height)) {
      throw new StarlingError(
        'IMAGE_UNREADABLE',
        `The result would have ${width} x ${height} pixels, more than a browser can show; use a smaller picture.`,
      );
    }
    const view = createCompareView(picture, scale);
    stage.replaceChildren(view.element);
    line.textContent = 'The first tile is on its way.';
    const totals = await upscale(loaded, picture, {
      signal,
      timeline: true,
      onTile(part, done, total) {
        view.place(part);
        bar.value = done / total;
        line.textContent = `${done} of ${plural(total, 'tile')}`;
      },
    });
    return { view, totals };
  };

  /** A session that fails when there is another in its place already (its Worker died) costs time only. */
  const enlargeWithNewest = async (picture: Planes, signal: AbortSignal) => {
    for (;;) {
      const newest = session();
      try {
        const loaded = await newest;
        signal.throwIfAborted();
        return await enlarge(loaded, picture, signal);
      } catch (thrown) {
        if (signal.aborted || session() === newest) throw thrown;
        bar.removeAttribute('value');
        line.textContent = 'The picture starts again.';
      }
    }
  };

  const open = async (file: Blob, name: string) => {
    reset();
    messages.clear();
    const own = new AbortController();
    running = own;
    try {
      const picture = await decodePicture(file).catch((thrown: unknown) => {
        throw file.type.startsWith('image/') ? thrown : neitherOf(name);
      });
      root.dataset['state'] = 'working';
      progress.hidden = false;
      bar.removeAttribute('value');
      line.textContent = 'Waiting for the network to be loaded.';
      const { view, totals } = await enlargeWithNewest(picture, own.signal);
      view.finish();
      result = { view, name };
      progress.hidden = true;
      showFigures(figures, totals, view.canvas);
      figures.hidden = after.hidden = false;
      compare.show(picture, totals.devices);
      root.dataset['state'] = 'done';
    } catch (thrown) {
      // Called off by the person, or overtaken by the next picture: nothing to say.
      if (own.signal.aborted) return;
      reset();
      messages.error(StarlingError.from(thrown, 'RUN_FAILED'));
    }
  };

  const take = (files: readonly GivenFile[]) => {
    const [first] = files;
    if (first !== undefined && !claim(files)) void open(first.file, first.file.name);
  };
  input.addEventListener('change', () => {
    take(filesOf(input.files));
    input.value = '';
  });
  sample.addEventListener('click', () => {
    samplePicture().then((blob) => open(blob, 'starlings.png'), messages.error);
  });
  cancel.addEventListener('click', reset);
  again.addEventListener('click', reset);
  save.addEventListener('click', () => result !== null && savePicture(result.view.canvas, result.name));
  document.addEventListener('paste', (event) => take(filesOf(event.clipboardData?.files)));
  document.addEventListener('dragover', (event) => {
    event.preventDefault();
    root.classList.add('dragging');
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) root.classList.remove('dragging');
  });
  document.addEventListener('drop', (event) => {
    event.preventDefault();
    root.classList.remove('dragging');
    droppedFiles(event.dataTransfer).then(take, messages.error);
  });
  reset();
  return {
    open,
    reset,
    tell(sentence) {
      if (!progress.hidden) line.textContent = sentence;
    },
  };
}

function neitherOf(name: string): StarlingError {
  if (isDataFile(name)) {
    const sentence = `“${name}” holds the weights of a model; drop the .onnx file that they belong to together with it.`;
    return new StarlingError('MODEL_UNREADABLE', sentence);
  }
  return new StarlingError(
    'IMAGE_UNREADABLE',
    `“${name}” is neither a picture nor a model that this page reads; choose a PNG or JPEG, or export the model as an .onnx file.`,
  );
}

function savePicture(canvas: HTMLCanvasElement, name: string): void {
  canvas.toBlob((blob) => {
    if (blob === null) return;
    const address = URL.createObjectURL(blob);
    const base = name.replace(/\.[^.]*$/, '') || 'picture';
    createElement('a', { href: address, download: `${base}-large.png` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  });
}
