/** Emits the selection of some positions along one axis: nothing, one Slice, or Slices and a Concat. */
import type { Attribute } from '../graph.ts';
import { type Ranges, size } from '../ranges.ts';
import { int64Tensor } from '../tensor.ts';
import type { PartBuilder } from './rule.ts';

const noAttributes: ReadonlyMap<string, Attribute> = new Map();

function axisAttribute(axis: number): ReadonlyMap<string, Attribute> {
  return new Map([['axis', { type: 'int', value: axis }]]);
}

/** Positions in the order given, neighbours joined: a selection that may repeat, skip and go backwards. */
export function inOrder(positions: readonly number[]): Ranges {
  const result: [number, number][] = [];
  for (const position of positions) {
    const last = result.at(-1);
    if (last !== undefined && last[1] === position) last[1]++;
    else result.push([position, position + 1]);
  }
  return result;
}

/** More pieces than this are gathered by index instead: one copy each way, but no Slice per piece. */
const maxSlices = 4;

/**
 * `positions` are positions in the tensor itself, in the order wanted; `length` is its extent along `axis`.
 * Returns the input's own name where everything is selected in order.
 */
export function emitSelection(
  builder: PartBuilder,
  input: string,
  axis: number,
  positions: Ranges,
  length: number,
  output?: string,
): string {
  const [only] = positions;
  if (positions.length === 1 && only?.[0] === 0 && only[1] === length) return input;
  if (positions.length > maxSlices) {
    const indices = positions.flatMap(([start, end]) =>
      Array.from({ length: end - start }, (_, i) => start + i),
    );
    const constant = builder.constant(int64Tensor(indices, [size(positions)]), 'indices');
    return builder.node('Gather', [input, constant], axisAttribute(axis), output);
  }
  const pieces = positions.map(([start, end]) => {
    const limits = [[start], [end], [axis]].map((values) => builder.constant(int64Tensor(values), 'slice'));
    return builder.node(
      'Slice',
      [input, ...limits],
      noAttributes,
      positions.length === 1 ? output : undefined,
    );
  });
  return emitConcat(builder, pieces, axis, output);
}

export function emitConcat(
  builder: PartBuilder,
  pieces: readonly string[],
  axis: number,
  output?: string,
): string {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return only;
  return builder.node('Concat', pieces, axisAttribute(axis), output);
}
