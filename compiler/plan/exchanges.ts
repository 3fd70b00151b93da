/** What crosses between shards of a lowered room, value by value, as a report lists it. */

import type { ShapedValue } from '../../graph/nodeView.ts';
import { size } from '../../graph/ranges.ts';
import { elementCount, tensorBytes } from '../../graph/tensor.ts';
import type { ExchangeKind, PlanReport } from '../../protocol/plan.ts';
import type { Program, RoomProgram, Transfer } from '../../runtime/lower/program.ts';

type Exchange = PlanReport['exchanges'][number];

/** Partial sums and statistics are values of lowering, named after the value that is made of them. */
const partialName = /^(.+)\/(partial|statistics)\d+$/;

/** The round after which a transfer is read: the level of the stage that waits for it. */
function roundOf({ stages }: Program, { targetName }: Transfer): number {
  const reading = stages.filter(({ inputs }) => inputs.includes(targetName)).map(({ level }) => level);
  return reading.length === 0 ? 0 : Math.min(...reading);
}

/** Channels are axis 1 of maps and the last axis of token matrices; maps' other axes are rows and columns. */
function kindOf(rank: number, axis: number): ExchangeKind {
  if (rank >= 4) return axis === 1 ? 'channels' : axis === 0 ? 'others' : 'rows';
  return axis === rank - 1 ? 'channels' : 'others';
}

/** One entry for each value and what travels of it, by round; `values` are the plan's own. */
export function describeExchanges(
  values: ReadonlyMap<string, ShapedValue>,
  { programs }: RoomProgram,
): readonly Exchange[] {
  const exchanges = new Map<string, Exchange>();
  for (const program of programs) {
    for (const transfer of program.receives) {
      const { value, axis, ranges, dims } = transfer;
      const [, made = '', suffix] = partialName.exec(value) ?? [];
      const partial = values.has(made);
      const name = partial ? made : value;
      const partialKind = suffix === 'partial' ? 'partial sums' : 'statistics';
      const kind = partial ? partialKind : kindOf(dims.length, axis);
      // Sums of a value may cross, and then the value itself.
      const key = `${kind} ${name}`;
      const before = exchanges.get(key);
      exchanges.set(key, {
        value: name,
        kind,
        features: (before?.features ?? 0) + (kind === 'partial sums' ? featuresOf(dims) : size(ranges)),
        bytes: (before?.bytes ?? 0) + tensorBytes(transfer),
        round: Math.min(before?.round ?? Number.POSITIVE_INFINITY, roundOf(program, transfer)),
      });
    }
  }
  return [...exchanges.values()].sort((a, b) => a.round - b.round);
}

/** Channels of a partial sum, whatever axis its owner is noted along. */
function featuresOf(dims: readonly number[]): number {
  return dims.length >= 3 ? (dims[dims.length >= 4 ? 1 : dims.length - 1] ?? 1) : elementCount(dims.slice(1));
}
