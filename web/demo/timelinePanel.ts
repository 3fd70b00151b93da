/** A card with the chart of the last run that was recorded: where its time went. Hidden until there is one. */
import type { RunOutcome } from '../coordinator/runQueue.ts';
import type { DeviceView } from '../deviceView.ts';
import { createElement } from './createElement.ts';
import { createGanttChart } from './ganttChart.ts';
import { formatTime, plural } from './sentences.ts';

export interface TimelinePanel {
  /** Outcomes without a timeline change nothing. */
  show(outcome: RunOutcome, devices: readonly DeviceView[]): void;
}

export function createTimelinePanel(root: HTMLElement): TimelinePanel {
  const chart = createElement('div');
  const said = createElement('p', { class: 'hint' });
  root.append(createElement('h2', { id: 'timeline-title' }, 'Where the time went'), said, chart);
  root.hidden = true;
  return {
    show({ timeline, stats, devices: count }, devices) {
      if (timeline === undefined) return;
      const time = formatTime(timeline.totalMs);
      said.textContent = `The last run: ${time} on ${plural(count, 'device')}, ${plural(stats.rounds, 'round')} of exchange.`;
      chart.replaceChildren(createGanttChart(timeline, devices));
      root.hidden = false;
    },
  };
}
