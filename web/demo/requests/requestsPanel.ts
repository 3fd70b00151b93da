/**
 * Many requests at once: a stream of runs that a person starts, and what the scaler makes of it, in figures and over
 * time. It measures nothing itself.
 */
import './requestsPanel.css';
import { StarlingError } from '../../../protocol/errors.ts';
import type { ScaledStats } from '../../instances/scaledRuns.ts';
import type { Session } from '../../session.ts';
import { createElement } from '../createElement.ts';
import { plural } from '../sentences.ts';
import { type RunStream, startRunStream } from './runStream.ts';
import { createTimeChart } from './timeChart.ts';

export interface RequestsPanelOptions {
  /** The page's plan, loaded with this objective; it is the page's session from then on. */
  load(slo: { readonly p95Ms: number }): Promise<Session>;
  onError(thrown: unknown): void;
}

const refreshMs = 500;

export function createRequestsPanel(root: HTMLElement, { load, onError }: RequestsPanelOptions): void {
  const objective = numberInput('objective', 500, 1, 600_000);
  const count = numberInput('requests-count', 16, 1, 256);
  const start = createElement('button', { type: 'button', class: 'button', id: 'requests-start' }, 'Start');
  const line = createElement('p', { class: 'line', role: 'status', id: 'scaler-decision' });
  const refusal = createElement('p', { class: 'line', id: 'scaler-refusal' });
  const figures = createElement('dl', { class: 'requests-figures' });
  const latency = createTimeChart('Latency of a request, from the start of its batch', ' ms', [
    { label: 'p50', colour: 'accent' },
    { label: 'p95', colour: 'warning' },
    { label: 'p99', colour: 'muted' },
    { label: 'objective', colour: 'ink', dashed: true },
  ]);
  const time = createTimeChart('Where a batch spends its time', ' ms', [
    { label: 'computing', colour: 'accent' },
    { label: 'network', colour: 'warning' },
  ]);
  const settings = createTimeChart('Requests per second, and what the scaler chose', ' /s', [
    { label: 'per second', colour: 'accent' },
    { label: 'batch', colour: 'warning', right: true },
    { label: 'instances', colour: 'ink', right: true },
    { label: 'waiting', colour: 'muted', right: true, dashed: true },
  ]);
  const charts = [latency, time, settings];
  const shown = createElement(
    'div',
    { class: 'requests-shown', hidden: true },
    line,
    refusal,
    figures,
    ...charts.map(({ element }) => element),
  );
  root.append(
    createElement('h2', {}, 'Many requests'),
    createElement(
      'p',
      { class: 'hint' },
      'A stream of requests with random inputs: watch how batches and copies of the network are chosen for a latency.',
    ),
    createElement(
      'div',
      { class: 'requests-controls' },
      labelled('95 of 100 within (ms)', objective),
      labelled('Requests at once', count),
      start,
    ),
    shown,
  );

  let running: { readonly session: Session; readonly stream: RunStream; readonly timer: number } | null =
    null;
  let startedAt = 0;

  const show = (stats: ScaledStats) => {
    const { decision, p50Ms, p95Ms, p99Ms, throughput, computeMs, networkMs, queuedRuns, instances } = stats;
    const at = performance.now() - startedAt;
    latency.push(at, [p50Ms, p95Ms, p99Ms, stats.objective.p95Ms]);
    time.push(at, [computeMs, networkMs]);
    settings.push(at, [throughput, decision.setting.batch, instances, queuedRuns]);
    line.textContent = decision.reason;
    refusal.textContent = stats.refusal === null ? '' : `No more instances: ${stats.refusal.message}`;
    root.dataset['phase'] = decision.phase;
    figures.replaceChildren(...figuresOf(stats).map(([name, label, value]) => figure(name, label, value)));
  };
  const stop = () => {
    if (running === null) return;
    clearInterval(running.timer);
    running.stream.stop();
    running = null;
    start.textContent = 'Start';
    root.dataset['state'] = 'stopped';
  };
  const fail = (thrown: unknown) => {
    stop();
    const error = StarlingError.from(thrown, 'RUN_FAILED');
    // Another plan was loaded in its place: that is no mishap.
    if (error.code !== 'RUN_ABORTED') onError(error);
  };
  const begin = async () => {
    start.disabled = true;
    try {
      const session = await load({ p95Ms: objective.valueAsNumber });
      startedAt = performance.now();
      for (const chart of charts) chart.clear();
      shown.hidden = false;
      const stream = startRunStream(session, count.valueAsNumber, fail);
      const timer = window.setInterval(() => {
        const stats = session.scalerStats();
        if (stats !== null) show(stats);
      }, refreshMs);
      running = { session, stream, timer };
      start.textContent = 'Stop';
      root.dataset['state'] = 'running';
    } catch (thrown) {
      fail(thrown);
    } finally {
      start.disabled = false;
    }
  };
  start.addEventListener('click', () => {
    if (running === null) void begin();
    else stop();
  });
  objective.addEventListener('change', () => {
    if (objective.validity.valid) running?.session.setObjective({ p95Ms: objective.valueAsNumber });
  });
  count.addEventListener('change', () => {
    if (count.validity.valid) running?.stream.setCount(count.valueAsNumber);
  });
}

type Figure = readonly [name: string, label: string, value: string];

function figuresOf(stats: ScaledStats): Figure[] {
  const { decision, placements, instances } = stats;
  const ms = (value: number | null) =>
    value === null ? '–' : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  const devices = new Set(placements.flat()).size;
  return [
    ['p50', 'p50', ms(stats.p50Ms)],
    ['p95', 'p95', ms(stats.p95Ms)],
    ['p99', 'p99', ms(stats.p99Ms)],
    ['throughput', 'per second', stats.throughput.toFixed(1)],
    ['batch', 'batch', String(decision.setting.batch)],
    [
      'instances',
      devices === 0 ? 'instances' : `instances on ${plural(devices, 'device')}`,
      String(instances),
    ],
    ['queue', 'waiting', String(stats.queuedRuns)],
    ['compute', 'computing', ms(stats.computeMs)],
    ['network', 'network', ms(stats.networkMs)],
  ];
}

function figure(name: string, label: string, value: string): HTMLElement {
  return createElement(
    'div',
    { 'data-figure': name },
    createElement('dt', {}, label),
    createElement('dd', {}, value),
  );
}

function numberInput(id: string, value: number, min: number, max: number): HTMLInputElement {
  return createElement('input', { type: 'number', id, value, min, max, step: 1, required: true });
}

function labelled(label: string, input: HTMLInputElement): HTMLElement {
  return createElement('label', { for: input.id }, createElement('span', {}, label), input);
}
