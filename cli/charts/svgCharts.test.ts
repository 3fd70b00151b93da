import { expect, test } from 'vitest';
import { svgCharts } from './svgCharts.ts';

const chart = (points: [number, number][]) => ({
  title: 'Loss <1>',
  xLabel: 'step',
  series: [{ label: 'a & b', points, dots: true }],
});

test('points lie between round ticks, larger values higher; text is escaped', () => {
  const svg = svgCharts([chart([[0, 1.2], [100, 4.7]])]); // biome-ignore format: two points
  const dots = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)"/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ]);
  const [[x0 = 0, y0 = 0] = [], [x1 = 0, y1 = 0] = []] = dots;
  expect(x1).toBeGreaterThan(x0);
  expect(y1).toBeLessThan(y0);
  expect([...svg.matchAll(/text-anchor="end">([\d.]+)</g)].map(([, tick]) => Number(tick))).toEqual([
    1, 2, 3, 4, 5,
  ]);
  expect(svg).toContain('Loss &lt;1>');
  expect(svg).toContain('a &amp; b');
});

test('one value, none, and what is no number still make a picture', () => {
  expect(svgCharts([chart([[5, 3]])])).not.toMatch(/NaN|Infinity/);
  expect(svgCharts([chart([])])).toMatch(/^<svg.*<\/svg>\n$/);
});
