/** A plan as text for people: what goes in and out, what each shard does, what crosses between them and what is not divided. */
import type { PlanFile, PlanReport } from '../protocol/plan.ts';
import { sparseTable } from './sparseText.ts';
import { formatCount, formatTable } from './table.ts';

export function planText(plan: PlanFile): string {
  const { report } = plan;
  const ends = (label: string, values: PlanFile['inputs']) =>
    values.map(({ name, dataType, shape }) => `${label} ${name}: ${dataType} [${shape.join(', ')}]`);
  return [
    `${plan.name}: ${plan.numShards} shards`,
    ...ends('input ', plan.inputs),
    ...ends('output', plan.outputs),
    batchText(plan),
    '',
    shardsTable(report),
    '',
    `One shard on each device: ${report.rounds} rounds, ${formatCount(report.exchangedBytes)}B exchanged; ${formatCount(report.inputBytes)}B of inputs go to the others, ${formatCount(report.outputBytes)}B of outputs come from them.`,
    ...exchangesTable(report),
    ...scatteredZeros(plan),
    ...(plan.sparse === undefined ? [] : ['', thinnedTitle(plan.sparse), sparseTable([plan])]),
    ...predictions(plan),
    ...replicatedTable(report),
  ].join('\n');
}

function thinnedTitle({ heldOut }: NonNullable<PlanFile['sparse']>): string {
  if (heldOut === undefined)
    return 'Thinned; there were no inputs beside those that it was fitted to, so nothing is known of its answers:';
  return `Thinned; its answers to ${heldOut.samples} inputs that nothing was fitted to, beside the model's:`;
}

function scatteredZeros({ metadata }: PlanFile): string[] {
  const zeros = metadata['scatteredZeros'];
  return zeros === undefined
    ? []
    : [`${zeros} weights are zero here and there: they are multiplied like the others and saved nothing.`];
}

/** A plan is for the shapes it was compiled for; only the batch may stay open. */
function batchText({ maxBatch }: PlanFile): string {
  return maxBatch > 1
    ? `Compiled for these shapes; up to ${maxBatch} samples in one run.`
    : 'Compiled for these shapes; one run takes one batch of just this size.';
}

function shardsTable(report: PlanReport): string {
  const { macs, weightBytes, heapBytes, macsPerShard, weightBytesPerShard, heapBytesPerShard } = report;
  const shards = macsPerShard.map((own, shard) => [
    `shard ${shard}`,
    formatCount(own),
    percent(own, macs),
    formatCount(weightBytesPerShard[shard] ?? 0),
    formatCount(heapBytesPerShard[shard] ?? 0),
  ]);
  return formatTable([
    ['', 'MACs', 'of all', 'weight bytes', 'heap bytes (predicted)'],
    ['whole model', formatCount(macs), '', formatCount(weightBytes), formatCount(heapBytes)],
    ...shards,
  ]);
}

function exchangesTable({ exchanges }: PlanReport): string[] {
  if (exchanges.length === 0) return [];
  const rows = exchanges.map(({ value, kind, features, bytes, round }) => [
    value,
    kind,
    features,
    formatCount(bytes),
    round,
  ]);
  return ['', 'Exchanges:', formatTable([['value', 'what', 'features', 'bytes', 'round'], ...rows])];
}

/** Nodes that multiply; what else no shard has a part of costs next to nothing and is counted in one line. */
function replicatedTable({ replicated, macs: all }: PlanReport): string[] {
  const costly = replicated.filter(({ macs }) => macs > 0);
  const rest = replicated.length - costly.length;
  if (replicated.length === 0) return ['', 'Every operator is divided.'];
  const macs = costly.reduce((sum, node) => sum + node.macs, 0);
  const rows = costly.map(({ node, opType, macs: own, reason }) => [
    node,
    opType,
    formatCount(own),
    percent(own, all),
    reason,
  ]);
  return [
    '',
    `Not divided: ${percent(macs, all)} of the MACs.`,
    ...(rows.length === 0 ? [] : [formatTable([['node', 'operator', 'MACs', 'of all', 'why'], ...rows])]),
    ...(rest === 0 ? [] : [`Nodes that multiply nothing (${rest}): ${reasonsText(replicated)}.`]),
  ];
}

/** `reason (Operator, Operator); ...` of the nodes without multiplications. */
function reasonsText(replicated: PlanReport['replicated']): string {
  const operators = new Map<string, Set<string>>();
  for (const { opType, macs, reason } of replicated) {
    if (macs > 0) continue;
    operators.set(reason, (operators.get(reason) ?? new Set()).add(opType));
  }
  return [...operators].map(([reason, names]) => `${reason} (${[...names].sort().join(', ')})`).join('; ');
}

function predictions({ predictedMs, metadata }: PlanFile): string[] {
  const entries = Object.entries(predictedMs);
  if (entries.length === 0) return [];
  const names: Readonly<Record<string, string>> = {
    one: 'one device',
    channels: 'channels',
    rows: 'rows',
    exact: 'best of the exact ones',
    auto: 'auto',
  };
  const { axis, division } = metadata;
  const taken = (name: string) => (name === axis ? 'taken' : '');
  return [
    '',
    'Predicted time of a run:',
    formatTable(entries.map(([name, ms]) => [names[name] ?? name, `${ms.toFixed(1)} ms`, taken(name)])),
    ...(division === undefined ? [] : [division]),
  ];
}

function percent(part: number, whole: number): string {
  return whole === 0 ? '' : `${((100 * part) / whole).toFixed(1)} %`;
}
