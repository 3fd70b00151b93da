/** A plan as text for people: what goes in and out, what each shard does, what crosses between them. */
import type { PlanFile } from '../protocol/plan.ts';
import { formatCount, formatTable } from './table.ts';

export function planText(plan: PlanFile): string {
  const { report } = plan;
  const ends = (label: string, values: PlanFile['inputs']) =>
    values.map(({ name, dataType, shape }) => `${label} ${name}: ${dataType} [${shape.join(', ')}]`);
  const shards = report.macsPerShard.map((macs, shard) => [
    `shard ${shard}`,
    formatCount(macs),
    percent(macs, report.macs),
    formatCount(report.weightBytesPerShard[shard] ?? 0),
  ]);
  const replicated = report.replicated.filter(({ macs }) => macs > 0);
  return [
    `${plan.name}: ${plan.numShards} shards`,
    ...ends('input ', plan.inputs),
    ...ends('output', plan.outputs),
    '',
    formatTable([
      ['', 'MACs', 'of all', 'weight bytes'],
      ['whole model', formatCount(report.macs), '', formatCount(report.weightBytes)],
      ...shards,
    ]),
    '',
    `One shard on each device: ${report.rounds} rounds, ${formatCount(report.exchangedBytes)}B exchanged.`,
    ...scatteredZeros(plan),
    ...predictions(plan),
    ...(replicated.length === 0
      ? []
      : [
          '',
          'Not divided:',
          formatTable(
            replicated.map(({ node, opType, macs, reason }) => [
              node,
              opType,
              `${formatCount(macs)} MACs`,
              reason,
            ]),
          ),
        ]),
  ].join('\n');
}

function scatteredZeros({ metadata }: PlanFile): string[] {
  const zeros = metadata['scatteredZeros'];
  return zeros === undefined
    ? []
    : [`${zeros} weights are zero here and there: they are multiplied like the others and saved nothing.`];
}

function predictions({ predictedMs, metadata }: PlanFile): string[] {
  const entries = Object.entries(predictedMs);
  if (entries.length === 0) return [];
  const names: Readonly<Record<string, string>> = {
    one: 'one device',
    channels: 'channels',
    rows: 'rows',
    auto: 'taken',
  };
  return [
    '',
    'Predicted time of a run:',
    formatTable(entries.map(([name, ms]) => [names[name] ?? name, `${ms.toFixed(1)} ms`])),
    metadata['division'] ?? '',
  ];
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '' : `${((100 * part) / whole).toFixed(1)} %`;
}
