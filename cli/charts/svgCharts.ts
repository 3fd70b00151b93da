/** Line charts as SVG text: axes, ticks, lines, a legend. It knows no training. */

export type Point = readonly [x: number, y: number];

export interface Series {
  readonly label: string;
  readonly points: readonly Point[];
  /** Marks every point: for few of them. */
  readonly dots?: boolean;
}

export interface Chart {
  readonly title: string;
  readonly xLabel: string;
  readonly series: readonly Series[];
}

const [width, height] = [560, 260];
const edge = { left: 56, right: 16, top: 34, bottom: 40 };
/** Okabe and Ito's colours, which most people can tell apart. */
const colours = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];

/** Charts below one another; those without points are left out. */
export function svgCharts(charts: readonly Chart[]): string {
  const drawn = charts.filter(({ series }) => series.some(({ points }) => points.length > 0));
  const parts = drawn.map((chart, i) => `<g transform="translate(0 ${i * height})">${chartOf(chart)}</g>`);
  const size = `width="${width}" height="${Math.max(1, drawn.length) * height}"`;
  const title = escaped(drawn.map((chart) => chart.title).join('; '));
  return `<svg xmlns="http://www.w3.org/2000/svg" role="img" ${size} font-family="sans-serif" font-size="11"><title>${title}</title><rect width="100%" height="100%" fill="#fff"/>${parts.join('')}</svg>\n`;
}

function chartOf({ title, xLabel, series }: Chart): string {
  const points = series.flatMap((one) => one.points);
  const [x, y] = [
    scaleOf(
      points.map(([px]) => px),
      edge.left,
      width - edge.right,
    ),
    scaleOf(
      points.map(([, py]) => py),
      height - edge.bottom,
      edge.top,
    ),
  ];
  const grid = y.ticks.map(
    (tick) =>
      `<path d="M${edge.left} ${n(y.at(tick))}H${width - edge.right}" stroke="#ddd"/>` +
      `<text x="${edge.left - 6}" y="${n(y.at(tick) + 4)}" text-anchor="end">${short(tick)}</text>`,
  );
  const below = x.ticks.map(
    (tick) =>
      `<text x="${n(x.at(tick))}" y="${height - edge.bottom + 15}" text-anchor="middle">${short(tick)}</text>`,
  );
  const lines = series.map(({ label, points: own, dots = false }, i) => {
    const colour = colours[i % colours.length];
    const path = own.map(([px, py], at) => `${at === 0 ? 'M' : 'L'}${n(x.at(px))} ${n(y.at(py))}`).join('');
    const marks = dots
      ? own.map(([px, py]) => `<circle cx="${n(x.at(px))}" cy="${n(y.at(py))}" r="3" fill="${colour}"/>`)
      : [];
    const at = edge.left + 8 + i * 130;
    return (
      `<path d="${path}" fill="none" stroke="${colour}" stroke-width="1.5"/>${marks.join('')}` +
      `<path d="M${at} 26h16" stroke="${colour}" stroke-width="2"/><text x="${at + 20}" y="30">${escaped(label)}</text>`
    );
  });
  return (
    `<text x="${edge.left}" y="15" font-weight="bold">${escaped(title)}</text>${grid.join('')}${below.join('')}` +
    `<text x="${(width + edge.left) / 2}" y="${height - 8}" text-anchor="middle">${escaped(xLabel)}</text>${lines.join('')}`
  );
}

interface Scale {
  readonly ticks: readonly number[];
  at(value: number): number;
}

function scaleOf(values: readonly number[], from: number, to: number): Scale {
  const finite = values.filter(Number.isFinite);
  const least = finite.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const largest = finite.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const [low, high] = least < largest ? [least, largest] : [least - 0.5, least + 0.5];
  // 1, 2 or 5 times a power of ten, about five of them.
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10);
  const start = Math.floor(low / step);
  const end = Math.ceil(high / step);
  const ticks = Array.from({ length: end - start + 1 }, (_, i) => (start + i) * step);
  const [first, last] = [start * step, end * step];
  return { ticks, at: (value) => from + ((value - first) / (last - first)) * (to - from) };
}

function n(value: number): string {
  return value.toFixed(1);
}

function short(value: number): string {
  return String(Number(value.toPrecision(6)));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
