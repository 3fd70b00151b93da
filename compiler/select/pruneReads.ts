/**
 * Grouped l0 pruning (RePurpose's sparsity): whole columns of a shard's weights go, and whole neurons where nobody reads
 * them any more, so that every multiply-accumulate that is reported gone is gone from what is lowered. Cheapest first, for
 * what each group costs the outputs; weights are re-fitted afterwards.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import { graphMacs } from '../../graph/ops/macs.ts';
import { ruleOf } from '../../graph/ops/rules.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Reads } from '../adjust/adjust.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import { positionsPerSample } from '../calibrate/patches.ts';
import type { Column } from './columns.ts';
import type { Source } from './features.ts';

export interface PruneInput {
  readonly graph: Graph;
  readonly columns: readonly Column[];
  readonly sources: ReadonlyMap<Contraction, readonly Source[]>;
  /** Multiply-accumulates that all shards execute when they read this. */
  readonly macsOf: (reads: Reads) => number;
}

/** Columns that go together. */
interface Group {
  readonly columns: readonly Column[];
  readonly density: number;
}

/** `sparsity`: share of the dense model's multiply-accumulates. Throws BUDGET_INVALID where so much cannot go. */
export function pruneReads(reads: Reads, sparsity: number, input: PruneInput): Reads {
  if (!(sparsity >= 0 && sparsity < 1)) {
    throw new StarlingError('BUDGET_INVALID', `A sparsity is expected from 0 to below 1, got ${sparsity}.`);
  }
  const dense = graphMacs(input.graph);
  const allowed = (1 - sparsity) * dense;
  const groups = [...neurons(input), ...input.columns.map(single)].sort((a, b) => a.density - b.density);
  const without = (count: number) => removed(reads, groups.slice(0, count), input.columns);
  const least = input.macsOf(without(groups.length));
  if (least > allowed) {
    throw new StarlingError(
      'BUDGET_INVALID',
      `A sparsity of ${sparsity} cannot be met: every shard keeps one input channel of each contraction, and what is not divided stays; the nearest is ${(1 - least / dense).toFixed(4)}.`,
    );
  }
  // Fewest groups that are enough: what is executed falls with every group.
  let [low, high] = [0, groups.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (input.macsOf(without(middle)) <= allowed) high = middle;
    else low = middle + 1;
  }
  return without(low);
}

const single = (column: Column): Group => ({
  columns: [column],
  density: column.score / Math.max(1, column.macs),
});

/** Features that only contractions read: without their columns the row that makes them goes too. */
function neurons({ graph, columns, sources }: PruneInput): readonly Group[] {
  const byFeature = new Map<string, { readonly value: string; readonly columns: Column[] }>();
  for (const column of columns) {
    const source = sources.get(column.contraction)?.[column.channel];
    if (source === undefined || source === 'everywhere') continue;
    const key = `${source.channel} ${source.value}`;
    const group = byFeature.get(key) ?? { value: source.value, columns: [] };
    byFeature.set(key, group);
    group.columns.push(column);
  }
  const rows = rowMacs(graph, [...sources.keys()]);
  return [...byFeature.values()].flatMap(({ value, columns: own }) => {
    const row = rows.get(value);
    if (row === undefined) return [];
    const score = own.reduce((sum, column) => sum + column.score, 0);
    const macs = own.reduce((sum, column) => sum + column.macs, row);
    return [{ columns: own, density: score / Math.max(1, macs) }];
  });
}

/** Value -> multiply-accumulates that make one of its features, where nothing but contractions reads them. */
function rowMacs(graph: Graph, contractions: readonly Contraction[]): ReadonlyMap<string, number> {
  const made = new Map(contractions.map((contraction) => [contraction.output, contraction]));
  const reading = new Set(contractions.map(({ node }) => node.name));
  const readers = new Map<string, Node[]>();
  for (const node of graph.nodes) {
    for (const name of new Set(node.inputs)) readers.set(name, [...(readers.get(name) ?? []), node]);
  }
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const rows = new Map<string, number>();
  for (const node of graph.nodes) {
    const [output = ''] = node.outputs;
    const contraction = made.get(output);
    const inputs = node.inputs.filter((name) => name !== '' && !graph.initializers.has(name));
    const [before = '', ...more] = inputs;
    const alone = (readers.get(before) ?? []).length === 1 && more.length === 0;
    const passed = ruleOf(node)?.kind === 'pointwise' && alone ? rows.get(before) : undefined;
    const macs =
      contraction === undefined
        ? passed
        : contraction.inputChannels * contraction.taps * positionsPerSample(contraction);
    if (macs !== undefined && !outputs.has(output)) rows.set(output, macs);
  }
  const onlyContracted = ([value]: readonly [string, number]) =>
    (readers.get(value) ?? []).every(({ name }) => reading.has(name));
  return new Map([...rows].filter(onlyContracted));
}

/** Every shard keeps the best channel of each contraction: no operator works on none. */
function removed(reads: Reads, groups: readonly Group[], all: readonly Column[]): Reads {
  const gone = new Map<Contraction, Set<string>>();
  for (const { columns } of groups) {
    for (const { contraction, shard, channel } of columns) {
      const keys = gone.get(contraction) ?? new Set();
      gone.set(contraction, keys.add(`${shard} ${channel}`));
    }
  }
  const best = new Map<string, Column>();
  const keyOf = (contraction: Contraction, shard: number) => `${shard} ${contraction.node.name}`;
  for (const column of all) {
    const key = keyOf(column.contraction, column.shard);
    const readable = reads.get(column.contraction)?.[column.shard]?.includes(column.channel) === true;
    if (readable && column.score >= (best.get(key)?.score ?? 0)) best.set(key, column);
  }
  return new Map(
    [...reads].map(([contraction, shards]) => [
      contraction,
      shards.map((channels, shard) => {
        const left = channels.filter((channel) => gone.get(contraction)?.has(`${shard} ${channel}`) !== true);
        const kept = best.get(keyOf(contraction, shard))?.channel ?? channels[0];
        return left.length > 0 || kept === undefined ? left : [kept];
      }),
    ]),
  );
}
