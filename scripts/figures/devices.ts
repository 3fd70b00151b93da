/** The table of four and eight devices: what the cost model predicts, not what was measured. */
import { markdownTable, type Row, readResult } from './results.ts';

interface DevicesFile {
  readonly commit: string;
  readonly date: string;
  readonly measuredOn: { readonly commit: string; readonly date: string };
  readonly rows: readonly {
    readonly title: string;
    readonly link: string;
    readonly devices: number;
    readonly oneMs: number;
    readonly axis: string;
    readonly ms: number;
    readonly rounds: number;
    readonly bytes: number;
  }[];
}

export function devicesSection(): string[] {
  const file = readResult<DevicesFile>('devices.json');
  if (file === undefined) return [];
  const rows = file.rows.map(
    ({ title, link, devices, oneMs, axis, ms, rounds, bytes }): Row => [
      title,
      link,
      devices,
      ms < oneMs ? axis : `${axis}, so one device alone`,
      `${ms.toFixed(0)} against ${oneMs.toFixed(0)}`,
      (oneMs / Math.min(ms, oneMs)).toFixed(2),
      rounds,
      (bytes / 1e6).toFixed(2),
    ],
  );
  return [
    `**More devices: a prediction.** Nobody measured this: the cost model, calibrated on one and two tabs (${file.measuredOn.date.slice(0, 10)}, commit ${file.measuredOn.commit.slice(0, 7)}), plays the plans for more devices as fast as those (\`npm run predict:devices\`), commit ${file.commit.slice(0, 7)}.`,
    '',
    markdownTable(
      [
        'model',
        'link',
        'devices',
        'best division',
        'ms, predicted, against one device',
        'x one',
        'rounds',
        'MB',
      ],
      rows,
    ),
    '',
  ];
}
