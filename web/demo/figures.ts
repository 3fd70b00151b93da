/** What one picture took, in numbers with their names: time, bytes, rounds, devices. */
import type { UpscaleTotals } from '../upscale.ts';
import { createElement } from './createElement.ts';
import { formatBytes, formatTime, plural } from './sentences.ts';

export function showFigures(
  root: HTMLElement,
  totals: UpscaleTotals,
  { width, height }: HTMLCanvasElement,
): void {
  const { timeMs, bytes, rounds, devices, tiles, restarts } = totals;
  const figures: [name: string, value: string][] = [
    ['Time', formatTime(timeMs)],
    ['Exchanged', formatBytes(bytes)],
    ['Rounds', String(rounds)],
    ['Devices', String(devices)],
    ['Tiles', String(tiles)],
    ['Size', `${width} × ${height}`],
  ];
  if (restarts > 0) figures.push(['Started again', plural(restarts, 'tile')]);
  root.replaceChildren(
    ...figures.map(([name, value]) =>
      createElement(
        'div',
        { 'data-figure': name.toLowerCase().replaceAll(' ', '-') },
        createElement('dt', {}, name),
        createElement('dd', {}, value),
      ),
    ),
  );
}
