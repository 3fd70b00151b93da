/** The picture of a training: loss, figures and kept ratio along its steps, and what each kept ratio came to. */
import { type Point, type Series, svgCharts } from './svgCharts.ts';

export interface ChartLine {
  readonly type: 'train' | 'evaluation';
  readonly step: number;
  readonly loss?: number | undefined;
  readonly accuracy?: number | undefined;
  readonly [further: string]: unknown;
}

export interface ChartLevel {
  readonly keptFeatures: number;
  readonly accuracy?: number | undefined;
  readonly loss?: number | undefined;
}

type Figure = 'loss' | 'accuracy';

export function trainingChart(lines: readonly ChartLine[], levels: readonly ChartLevel[]): string {
  const along = (type: ChartLine['type'], figure: Figure, label: string): Series => ({
    label,
    points: lines.flatMap((line): Point[] => {
      const value = line[figure];
      return line.type === type && typeof value === 'number' ? [[line.step, percent(figure, value)]] : [];
    }),
  });
  const kept = lines.flatMap(({ step, keptFeatures }): Point[] =>
    typeof keptFeatures === 'number' ? [[step, keptFeatures]] : [],
  );
  const settled = (figure: Figure): Point[] =>
    levels
      .flatMap(({ keptFeatures, [figure]: value }): Point[] =>
        value === undefined ? [] : [[keptFeatures, percent(figure, value)]],
      )
      .sort(([a], [b]) => a - b);
  const trained = along('train', 'loss', 'training');
  const held = along('evaluation', 'loss', 'held out');
  return svgCharts([
    { title: 'Loss', xLabel: 'step', series: [trained, ...(held.points.length > 0 ? [held] : [])] },
    {
      title: 'Top-1, %',
      xLabel: 'step',
      series: [along('train', 'accuracy', 'training'), along('evaluation', 'accuracy', 'held out')],
    },
    { title: 'Kept ratio', xLabel: 'step', series: [{ label: 'features', points: kept }] },
    {
      title: 'Top-1 of the settled levels, %',
      xLabel: 'kept ratio',
      series: [{ label: 'test', points: settled('accuracy'), dots: true }],
    },
    {
      title: 'Loss of the settled levels',
      xLabel: 'kept ratio',
      series: [{ label: 'held out', points: settled('loss'), dots: true }],
    },
  ]);
}

function percent(figure: Figure, value: number): number {
  return figure === 'accuracy' ? 100 * value : value;
}
