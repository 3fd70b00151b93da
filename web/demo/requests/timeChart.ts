/** Lines over the last minutes; the only file that knows uPlot. What is drawn is the caller's. */
import 'uplot/dist/uPlot.min.css';
import UPlot from 'uplot';
import { createElement } from '../createElement.ts';

export interface ChartLine {
  readonly label: string;
  /** Name of a colour in style.css, without its dashes. */
  readonly colour: string;
  readonly dashed?: boolean;
  /** Drawn against the right axis. */
  readonly right?: boolean;
}

export interface TimeChart {
  readonly element: HTMLElement;
  /** One value for each line, in their order; null where there is none. */
  push(atMs: number, values: readonly (number | null)[]): void;
  clear(): void;
}

const heightPx = 130;
const mostPoints = 600;

/** `unit` is of the left axis. */
export function createTimeChart(title: string, unit: string, lines: readonly ChartLine[]): TimeChart {
  const plot = createElement('div', { class: 'chart-plot' });
  const element = createElement('figure', { class: 'chart' }, createElement('figcaption', {}, title), plot);
  let rows: (number | null)[][] = [[], ...lines.map(() => [])];
  let drawn: UPlot | null = null;

  const data = () => rows as unknown as UPlot.AlignedData;
  const draw = () => {
    const width = plot.clientWidth;
    if (width === 0) return;
    if (drawn !== null && drawn.width === width) drawn.setData(data());
    else {
      drawn?.destroy();
      drawn = new UPlot(optionsOf(plot, width, unit, lines), data(), plot);
    }
  };
  return {
    element,
    push(atMs, values) {
      [atMs / 1000, ...values].forEach((value, i) => {
        rows[i]?.push(value);
      });
      rows = rows.map((row) => row.slice(-mostPoints));
      draw();
    },
    clear() {
      rows = rows.map(() => []);
      draw();
    },
  };
}

function optionsOf(
  plot: HTMLElement,
  width: number,
  unit: string,
  lines: readonly ChartLine[],
): UPlot.Options {
  const styles = getComputedStyle(plot);
  const hasRight = lines.some(({ right }) => right === true);
  const axis = {
    stroke: styles.color,
    grid: { stroke: 'rgb(128 128 128 / 20%)', width: 1 },
    ticks: { show: false },
  };
  const fromZero: UPlot.Scale.Range = (_, __, max) => [0, Math.max(1, 1.1 * (max ?? 0))];
  return {
    width,
    height: heightPx,
    legend: { live: false },
    cursor: { show: false },
    scales: { x: { time: false }, y: { range: fromZero }, right: { range: fromZero } },
    axes: [
      { ...axis, size: 26, values: (_, seconds) => seconds.map((value) => `${value} s`) },
      { ...axis, size: 56, values: (_, values) => values.map((value) => `${value}${unit}`) },
      ...(hasRight ? [{ ...axis, scale: 'right', side: 1, grid: { show: false } }] : []),
    ],
    series: [
      { label: 'time' },
      ...lines.map(({ label, colour, dashed = false, right = false }) => ({
        label,
        stroke: resolve(plot, colour),
        width: 1.5,
        ...(dashed ? { dash: [4, 4] } : {}),
        ...(right ? { scale: 'right' } : {}),
        points: { show: false },
      })),
    ],
  };
}

/** A canvas takes no light-dark() and no custom property. */
function resolve(plot: HTMLElement, colour: string): string {
  const probe = createElement('span', { style: `color: var(--${colour})` });
  plot.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
