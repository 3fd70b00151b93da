/** The page's second network: what a small picture shows, by a dense and by a sparse plan side by side. */
import './classify.css';
import { StarlingError } from '../../../protocol/errors.ts';
import { classifierEnds } from '../../classify.ts';
import type { DeviceChoice } from '../../coordinator/placer.ts';
import { canvasOf, decodeScaled } from '../../picture.ts';
import type { Session } from '../../session.ts';
import { createElement } from '../createElement.ts';
import { createFilePicker } from '../filePicker.ts';
import type { Messages } from '../messages.ts';
import { comparison } from '../sentences.ts';
import { type AnswerCard, createAnswerCard } from './answerCard.ts';
import { type Catalogue, type Exchange, exchanges } from './catalogue.ts';
import { compareRuns, timedRuns } from './timedRuns.ts';

export interface ClassifyPanelOptions {
  readonly messages: Messages;
  /** Rejects PLAN_NOT_FOUND. */
  catalogue(): Promise<Catalogue>;
  /** Loads the plan of this exchange, or gives it where it is loaded. Rejects PLAN_NOT_FOUND, and as `room.load` does. */
  load(exchange: Exchange): Promise<Session>;
  /** The exchange that is loaded now; null where another network is. */
  loaded(): Exchange | null;
}

export interface ClassifyPanel {
  /** Shows the section and loads a plan. */
  open(): void;
  /** Whether the file is this panel's: a picture, while the section is open. */
  take(file: File): boolean;
  close(): void;
}

interface Chosen {
  readonly image: ImageData;
  readonly truth: string | null;
}

const topCount = 5;
const timedCount = 7;

export function createClassifyPanel(root: HTMLElement, options: ClassifyPanelOptions): ClassifyPanel {
  const { messages, catalogue, load, loaded } = options;
  const samples = createElement('div', { class: 'samples', role: 'group', 'aria-label': 'Test pictures' });
  const cards = new Map<Exchange, AnswerCard>(exchanges.map((name) => [name, createAnswerCard(name)]));
  const preview = createElement('div', { class: 'preview' });
  const caption = createElement('p', { class: 'hint', role: 'status' });
  const picker = createFilePicker({
    id: 'classify-file',
    label: 'Choose a picture',
    accept: 'image/*',
    quiet: true,
    onFile: (file) => void chooseOwn(file),
  });
  const everyDevice = createElement('input', { type: 'checkbox', id: 'every-device' });
  const everyLabel = createElement(
    'label',
    { for: 'every-device', class: 'choice' },
    everyDevice,
    ' Every device, even if one alone is faster',
  );
  const compare = createElement(
    'button',
    { type: 'button', class: 'quiet', id: 'classify-compare' },
    'Compare with one device',
  );
  const answers = createElement('div', { class: 'answers' });
  const result = createElement(
    'div',
    { class: 'classified', hidden: true },
    createElement('figure', { class: 'chosen-picture' }, preview, caption),
    answers,
  );
  root.append(
    createElement('h2', {}, 'What does the picture show?'),
    createElement(
      'p',
      { class: 'hint' },
      'Ten kinds of things, learned from CIFAR-10. These pictures were never trained on; or drop one of your own: its middle is taken, 32 by 32 pixels.',
    ),
    samples,
    createElement('div', { class: 'actions' }, picker, everyLabel),
    result,
    createElement('div', { class: 'actions' }, compare),
  );
  compare.hidden = true;

  let opened: AbortController | null = null;
  let running: AbortController | null = null;
  let chosen: Chosen | null = null;

  const devices = (): DeviceChoice | undefined => (everyDevice.checked ? 'all' : undefined);
  /** The one that is loaded first, so that something is there at once. */
  const inOrder = async (): Promise<Exchange[]> => {
    const { plans } = await catalogue();
    const there = exchanges.filter((name) => plans.some(({ exchange }) => exchange === name));
    const first = loaded();
    return there.sort((a, b) => Number(b === first) - Number(a === first));
  };

  /** One thing at a time: what was going on is called off. */
  const begin = (work: (signal: AbortSignal) => Promise<void>) => {
    running?.abort();
    const own = new AbortController();
    running = own;
    root.dataset['state'] = 'working';
    messages.clear();
    work(own.signal)
      .catch((thrown: unknown) => {
        if (own.signal.aborted) return;
        for (const card of cards.values()) card.compare('');
        messages.error(StarlingError.from(thrown, 'RUN_FAILED'));
      })
      .finally(() => {
        if (running !== own) return;
        running = null;
        root.dataset['state'] = 'ready';
        compare.textContent = 'Compare with one device';
      });
  };

  const answerAll = (picture: Chosen) =>
    begin(async (signal) => {
      for (const exchange of await inOrder()) {
        const card = cards.get(exchange);
        card?.wait(loaded() === exchange ? 'On its way.' : 'The plan is loaded.');
        const session = await load(exchange);
        if (signal.aborted) return;
        session.useDevices(devices());
        const { data } = picture.image;
        const runs = await timedRuns(session, data, { signal, count: timedCount, top: topCount });
        card?.show(session, runs, picture.truth);
        compare.hidden = false;
      }
    });

  const compareAll = (picture: Chosen) =>
    begin(async (signal) => {
      compare.textContent = 'Stop comparing';
      for (const exchange of await inOrder()) {
        const card = cards.get(exchange);
        card?.compare('One device, then all of them.');
        const session = await load(exchange);
        if (signal.aborted) return;
        const { data } = picture.image;
        const {
          aloneMs,
          roomMs,
          devices: count,
        } = await compareRuns(session, data, {
          signal,
          after: devices(),
        });
        card?.compare(comparison(aloneMs, roomMs, count));
      }
    });

  const choose = async (file: Blob, truth: string | null) => {
    const attempt = opened;
    try {
      const session = await load(loaded() ?? exchanges[0]);
      const { layout } = classifierEnds(session);
      const image = await decodeScaled(file, layout, 'crop');
      if (attempt === null || attempt.signal.aborted) return;
      chosen = { image, truth };
      const canvas = canvasOf(image.width, image.height);
      canvas.getContext('2d')?.putImageData(image, 0, 0);
      preview.replaceChildren(canvas);
      caption.textContent = truth === null ? 'Your picture' : `Truth: ${truth}`;
      result.hidden = false;
      for (const card of cards.values()) card.clear();
      answerAll(chosen);
    } catch (thrown) {
      if (attempt?.signal.aborted === false) messages.error(StarlingError.from(thrown, 'IMAGE_UNREADABLE'));
    }
  };

  const chooseOwn = (file: File) => {
    for (const button of samples.children) button.setAttribute('aria-pressed', 'false');
    return choose(file, null);
  };

  const fill = async () => {
    const { pictures, plans } = await catalogue();
    const shown = exchanges.filter((name) => plans.some(({ exchange }) => exchange === name));
    answers.replaceChildren(...shown.flatMap((name) => cards.get(name)?.element ?? []));
    samples.replaceChildren(
      ...pictures.map(({ path, class: name }) => {
        const image = createElement('img', { src: path, alt: name, width: 32, height: 32 });
        const button = createElement('button', { type: 'button', class: 'sample', title: name }, image);
        button.addEventListener('click', () => {
          for (const other of samples.children) other.setAttribute('aria-pressed', String(other === button));
          fetch(path).then(
            async (response) => choose(await response.blob(), name),
            (thrown: unknown) => messages.error(thrown),
          );
        });
        return button;
      }),
    );
  };

  compare.addEventListener('click', () => {
    if (compare.textContent === 'Stop comparing') {
      running?.abort();
      for (const card of cards.values()) card.compare('');
    } else if (chosen !== null) compareAll(chosen);
  });
  everyDevice.addEventListener('change', () => {
    if (chosen !== null) answerAll(chosen);
  });
  root.hidden = true;
  return {
    open() {
      opened = new AbortController();
      root.hidden = false;
      begin(async () => {
        if (samples.childElementCount === 0) await fill();
        const [first] = await inOrder();
        if (first !== undefined) (await load(first)).useDevices(devices());
      });
    },
    take(file) {
      if (opened === null || !file.type.startsWith('image/')) return false;
      void chooseOwn(file);
      return true;
    },
    close() {
      opened?.abort();
      running?.abort();
      opened = null;
      root.hidden = true;
    },
  };
}
