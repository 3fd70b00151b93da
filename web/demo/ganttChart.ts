/** A Gantt chart of one run: a row for each device, drawn as SVG, with the same figures as a table below. */
import type { RunTimeline } from '../../protocol/timeline.ts';
import type { DeviceView } from '../deviceView.ts';
import { createElement } from './createElement.ts';
import { deviceColours } from './devicesPanel.ts';
import { type Activity, activities, type GanttRow, type GanttSpan, ganttRows } from './ganttRows.ts';
import { formatTime } from './sentences.ts';

const activityLabels: { readonly [Name in Activity]: string } = {
  compute: 'Computing',
  serialise: 'Packing',
  wait: 'Waiting',
  network: 'Network',
};

/** Heights in pixels: widths are percentages, so that the chart fits any page and its text keeps its size. */
const row = { name: 18, lane: 18, network: 5, gap: 14 } as const;
const rowHeight = row.name + row.lane + 2 + row.network + row.gap;
const axisHeight = 16;

interface Named extends GanttRow {
  readonly name: string;
  readonly colour: number;
}

/** `devices`: the room's, for names and the colours that its panel gives them. */
export function createGanttChart(timeline: RunTimeline, devices: readonly DeviceView[]): HTMLElement {
  const rows = ganttRows(timeline).map((one): Named => {
    const index = devices.findIndex(({ id }) => id === one.device);
    const { name, self } = devices[index] ?? { name: 'A device that has left', self: false };
    return { ...one, name: self ? `${name} (this one)` : name, colour: Math.max(0, index) % deviceColours };
  });
  return createElement('figure', { class: 'gantt' }, legend(), drawing(rows, timeline.totalMs), table(rows));
}

function legend(): HTMLElement {
  return createElement(
    'ul',
    { class: 'gantt-legend', 'aria-hidden': 'true' },
    ...activities.map((activity) =>
      createElement(
        'li',
        {},
        createElement('span', { class: `swatch ${activity}`, 'data-colour': 0 }),
        activityLabels[activity],
      ),
    ),
  );
}

function drawing(rows: readonly Named[], totalMs: number): SVGElement {
  const height = rows.length * rowHeight + axisHeight;
  const root = svg('svg', {
    width: '100%',
    height,
    role: 'img',
    'aria-label': `What ${rows.map(({ name }) => name).join(' and ')} did in ${formatTime(totalMs)}; the table below says it in figures.`,
  });
  rows.forEach((one, index) => {
    const top = index * rowHeight;
    const group = svg('g', { class: 'gantt-row', 'data-device': one.device, 'data-colour': one.colour });
    const name = svg('text', { x: 0, y: top + 12, class: 'gantt-name' });
    name.textContent = one.name;
    group.append(name, ...one.spans.map((span) => bar(span, top + row.name, totalMs)));
    root.append(group);
  });
  const ends = [
    [0, 'start'],
    [0.5, 'middle'],
    [1, 'end'],
  ] as const;
  for (const [part, anchor] of ends) {
    const label = svg('text', {
      x: `${100 * part}%`,
      y: height - 3,
      'text-anchor': anchor,
      class: 'gantt-axis',
    });
    label.textContent = formatTime(part * totalMs);
    root.append(label);
  }
  return root;
}

function bar({ activity, startMs, endMs }: GanttSpan, top: number, totalMs: number): SVGElement {
  const percent = (ms: number) => `${((100 * ms) / (totalMs || 1)).toFixed(3)}%`;
  const network = activity === 'network';
  const rectangle = svg('rect', {
    class: activity,
    x: percent(startMs),
    y: network ? top + row.lane + 2 : top,
    width: percent(endMs - startMs),
    height: network ? row.network : row.lane,
  });
  const title = svg('title', {});
  title.textContent = `${activityLabels[activity]}: ${formatTime(endMs - startMs)}, from ${formatTime(startMs)} on`;
  rectangle.append(title);
  return rectangle;
}

function table(rows: readonly Named[]): HTMLElement {
  const heads = activities.map((activity) => createElement('th', { scope: 'col' }, activityLabels[activity]));
  return createElement(
    'table',
    { class: 'gantt-sums' },
    createElement(
      'thead',
      {},
      createElement('tr', {}, createElement('th', { scope: 'col' }, 'Device'), ...heads),
    ),
    createElement(
      'tbody',
      {},
      ...rows.map(({ device, name, sums }) =>
        createElement(
          'tr',
          { 'data-device': device },
          createElement('th', { scope: 'row' }, name),
          ...activities.map((activity) =>
            createElement('td', { 'data-activity': activity }, formatTime(sums[activity])),
          ),
        ),
      ),
    ),
  );
}

function svg(tag: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}
