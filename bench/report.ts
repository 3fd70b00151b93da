/** The table that a run of the benchmarks prints; the JSON beside it holds everything. */
import { formatTable } from '../cli/table.ts';
import type { TwoTabsControl } from './controls.ts';
import type { Exchange } from './exchange.ts';
import type { ScenarioResult } from './measure.ts';

const none = '-';

export function controlsText(
  name: string,
  { onePerSecond, twoPerSecond, ratio, quiet }: TwoTabsControl,
): string {
  const verdict = quiet ? 'quiet' : 'BUSY: ratios are not published';
  return `control (${name}): two plain tabs ${twoPerSecond} runs/s, one ${onePerSecond}, ratio ${ratio}: ${verdict}`;
}

export function exchangesTable(exchanges: readonly Exchange[]): string {
  return formatTable([
    ['exchange of two Workers', 'bare ms', 'link ms', 'link/bare'],
    ...exchanges.map(({ bytes, bareMs, linkMs, ratio }) => [`${bytes} B`, bareMs, linkMs, ratio]),
  ]);
}

/** Ratios are left out where the machine was busy. */
export function scenariosTable(title: string, results: readonly ScenarioResult[], quiet: boolean): string {
  const ratio = (value: number | null | undefined) => (value == null || !quiet ? none : value.toFixed(2));
  return formatTable([
    [
      title,
      'median ms',
      'best',
      'p10-p90',
      'x plain',
      'runs/s (x plain)',
      'target',
      'predicted',
      'host compute',
      'host wait',
      'slowest compute',
      'rounds',
      'MB exchanged',
      'x bound',
      'error',
      'others',
    ],
    ...results.map((result) => {
      const { whole, stats, traffic, target, devices, othersCores, bound, predicted, throughput } = result;
      const slowest = Math.max(...devices.map(({ computeMs }) => computeMs));
      return [
        whole === null ? result.title : `${result.title} (one session each: ${whole.medianMs} ms)`,
        result.medianMs.toFixed(1),
        result.bestMs.toFixed(1),
        `${result.p10Ms.toFixed(1)}-${result.p90Ms.toFixed(1)}`,
        whole === null ? ratio(result.toPlain) : `${ratio(whole.ratio)} of one`,
        throughput === null ? none : `${throughput.perSecond.toFixed(1)} (${ratio(throughput.toPlain)})`,
        target === null ? none : `<= ${target}`,
        predicted === null ? none : `${predicted.ms.toFixed(0)} (${ratio(predicted.ratio)})`,
        stats === null ? none : stats.computeMs.toFixed(1),
        stats === null ? none : stats.waitMs.toFixed(1),
        devices.length === 0 ? none : slowest.toFixed(1),
        traffic?.rounds ?? none,
        traffic === null ? none : (traffic.exchangedBytes / 1e6).toFixed(2),
        ratio(bound?.ratio),
        result.relativeError.toExponential(0),
        othersCores === null ? none : othersCores.mean.toFixed(2),
      ];
    }),
  ]);
}

/** Where the time of the noted runs went. */
export function breakdownTable(results: readonly ScenarioResult[]): string {
  const rows = results.flatMap(({ title, devices }) =>
    devices.length < 2
      ? []
      : devices.map((device, index) => [
          `${title}, device ${index}`,
          ...[
            device.computeMs,
            device.serialiseMs,
            device.peerMs,
            device.networkMs,
            device.localMs,
            device.tailMs,
          ].map((ms) => ms.toFixed(1)),
        ]),
  );
  if (rows.length === 0) return '';
  return formatTable([
    ['noted runs, ms', 'compute', 'serialise', 'wait for peer', 'network', 'local', 'tail'],
    ...rows,
  ]);
}
