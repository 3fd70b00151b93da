/** What one plan makes of a picture: its likeliest classes as bars, what that took, and how good the plan is. */
import type { PlanSummary } from '../../../workers/api.ts';
import type { Session } from '../../session.ts';
import { createElement } from '../createElement.ts';
import { formatBytes, formatTime, plural } from '../sentences.ts';
import type { Exchange } from './catalogue.ts';
import type { TimedRuns } from './timedRuns.ts';

export interface AnswerCard {
  readonly element: HTMLElement;
  /** The picture is on its way. */
  wait(sentence: string): void;
  show(session: Session, runs: TimedRuns, truth: string | null): void;
  /** A line below the figures: how the room compares with one device. */
  compare(sentence: string): void;
  /** As in the beginning. */
  clear(): void;
}

const titles: { readonly [Name in Exchange]: string } = {
  sparse: 'Sparse exchange',
  dense: 'Dense exchange',
};
const hints: { readonly [Name in Exchange]: string } = {
  sparse: 'Trained so that few features have to travel.',
  dense: 'Devices send each other whatever the next layer reads.',
};

export function createAnswerCard(exchange: Exchange): AnswerCard {
  const about = createElement('p', { class: 'hint' }, hints[exchange]);
  const bars = createElement('ol', { class: 'bars' });
  const figures = createElement('dl', { class: 'answer-figures' });
  const accuracy = createElement('p', { class: 'hint accuracy' });
  const line = createElement('p', { class: 'line', role: 'status' });
  const element = createElement(
    'article',
    { class: 'answer', 'data-exchange': exchange, 'data-state': 'empty' },
    createElement('h3', {}, titles[exchange]),
    about,
    bars,
    figures,
    accuracy,
    line,
  );
  const clear = () => {
    element.dataset['state'] = 'empty';
    line.textContent = '';
    bars.replaceChildren();
    figures.replaceChildren();
  };
  return {
    element,
    clear,
    wait(sentence) {
      element.dataset['state'] = 'waiting';
      line.textContent = sentence;
    },
    show(session, { answer, medianMs }, truth) {
      const { plan } = session;
      about.textContent = sharesOf(plan);
      accuracy.textContent = accuracyOf(plan);
      bars.replaceChildren(
        ...answer.top.map(({ name, probability }) => {
          const bar = createElement('span', { class: 'bar', 'aria-hidden': 'true' });
          bar.style.setProperty('--share', `${100 * probability}%`);
          const percent = percentOf(probability, probability < 0.9995 ? 1 : 0);
          return createElement(
            'li',
            { 'data-class': name, class: name === truth ? 'truth' : '' },
            createElement('span', { class: 'bar-name' }, name),
            bar,
            createElement('span', { class: 'bar-value' }, percent),
          );
        }),
      );
      const { devices, rounds, sentBytes, receivedBytes } = answer.report;
      figures.replaceChildren(
        figure('time', 'Time', medianMs < 10 ? `${medianMs.toFixed(1)} ms` : formatTime(medianMs)),
        figure('devices', 'Devices', String(devices)),
        figure('exchanged', 'Exchanged', formatBytes(sentBytes + receivedBytes)),
        figure('rounds', 'Rounds', String(rounds)),
      );
      line.textContent = '';
      element.dataset['state'] = 'done';
    },
    compare(sentence) {
      line.textContent = sentence;
    },
  };
}

function sharesOf({ numShards, keptRatio }: PlanSummary): string {
  const kept = keptRatio === 1 ? 'every feature' : `${percentOf(keptRatio)} of the features`;
  return `${plural(numShards, 'shard')}, ${kept} sent.`;
}

function accuracyOf({ measured }: PlanSummary): string {
  const top1 = measured?.figures['top1'];
  if (measured === null || top1 === undefined) return '';
  const original = measured.original?.['top1'];
  const beside = original === undefined ? '' : ` The dense network: ${percentOf(original, 2)}.`;
  return `Right on ${percentOf(top1, 2)} of ${measured.samples.toLocaleString('en')} of ${measured.data}.${beside}`;
}

function percentOf(share: number, digits = 0): string {
  return `${(100 * share).toFixed(digits)} %`;
}

function figure(name: string, label: string, value: string): HTMLElement {
  return createElement(
    'div',
    { 'data-figure': name },
    createElement('dt', {}, label),
    createElement('dd', {}, value),
  );
}
