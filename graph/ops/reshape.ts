/**
 * Reshape, Flatten, Squeeze and Unsqueeze (opset 13): the elements keep their order, so an output axis is an input
 * axis, a factor of one (heads of a token, groups of channels), or several axes together.
 */
import type { Attribute } from '../graph.ts';
import { normalise, positionsWithin, type Ranges, range, size } from '../ranges.ts';
import { elementCount, int64Tensor } from '../tensor.ts';
import type { NodeView, OpRule } from './rule.ts';
import { emitSelection } from './select.ts';

/**
 * How an output axis lies on an input axis. The longer of the two is `repeat` times the shorter's length times
 * `step`: either each output index covers `step` input indices in each repetition, or the other way round.
 */
interface AxisLink {
  readonly inputAxis: number;
  readonly longer: 'input' | 'output';
  readonly repeat: number;
  readonly step: number;
  /** Length of the shorter axis. */
  readonly length: number;
}

interface AxisPlace {
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
}

function placeOf(shape: readonly number[], axis: number): AxisPlace {
  return {
    outer: elementCount(shape.slice(0, axis)),
    length: shape[axis] ?? 1,
    inner: elementCount(shape.slice(axis + 1)),
  };
}

/** `longer` seen as [repeat, shorter.length, step], where the shorter axis is a factor of it. */
function factorOf(longer: AxisPlace, shorter: AxisPlace): { repeat: number; step: number } | undefined {
  const repeat = shorter.outer / longer.outer;
  const step = shorter.inner / longer.inner;
  const fits = Number.isInteger(repeat) && Number.isInteger(step);
  return fits && repeat * shorter.length * step === longer.length ? { repeat, step } : undefined;
}

function linksOf(view: NodeView, axis: number): AxisLink[] {
  const output = placeOf(view.outputShape, axis);
  return view.inputShape(0).flatMap((length, inputAxis): AxisLink[] => {
    if (length === 1) return [];
    const input = placeOf(view.inputShape(0), inputAxis);
    const inside = factorOf(input, output);
    if (inside !== undefined) return [{ inputAxis, longer: 'input', ...inside, length: output.length }];
    const around = factorOf(output, input);
    return around === undefined ? [] : [{ inputAxis, longer: 'output', ...around, length: input.length }];
  });
}

/** Indices of the longer axis for indices of the shorter one. */
function spread({ repeat, step, length }: AxisLink, ranges: Ranges): Ranges {
  return normalise(
    Array.from({ length: repeat }, (_, k) => k * length).flatMap((start) =>
      ranges.map(([s, e]) => [(start + s) * step, (start + e) * step] as const),
    ),
  );
}

/** Indices of the shorter axis that cover indices of the longer one. */
function gathered({ step, length }: AxisLink, ranges: Ranges): Ranges {
  return normalise(
    ranges.flatMap(([s, e]): Ranges => {
      const [first, last] = [Math.floor(s / step), Math.ceil(e / step)];
      if (last - first >= length) return range(0, length);
      const low = first % length;
      const high = low + last - first;
      return [...range(low, Math.min(high, length)), ...range(0, high - length)];
    }),
  );
}

function sourceOf(link: AxisLink, ranges: Ranges): Ranges {
  return link.longer === 'input' ? spread(link, ranges) : gathered(link, ranges);
}

/** What a reshape of those input indices holds of the output. */
function heldOf(link: AxisLink, ranges: Ranges, source: Ranges): Ranges {
  return link.longer === 'input' ? ranges : spread(link, source);
}

/** The link through which the least beside the wanted indices is read; the first of equals. */
function bestLink(view: NodeView, axis: number, ranges: Ranges): AxisLink | undefined {
  let best: AxisLink | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const link of linksOf(view, axis)) {
    const held = size(heldOf(link, ranges, sourceOf(link, ranges)));
    if (held < least) [best, least] = [link, held];
  }
  return best;
}

const noAttributes: ReadonlyMap<string, Attribute> = new Map();

export const reshape: OpRule = {
  kind: 'structural',
  doc: {
    channels: 'the same elements, where they are whole indices of one input axis',
    rows: 'the same elements, where they are whole indices of one input axis',
    others: 'likewise: heads and groups are runs of channels',
  },
  needs(view, { axis, ranges }) {
    const link = view.isConstant(0) ? undefined : bestLink(view, axis, ranges);
    if (link === undefined) return undefined;
    // Even a shape that is computed says nothing new: its length is known here.
    const rest = view.node.inputs.slice(1).map(() => 'none' as const);
    return [{ axis: link.inputAxis, ranges: sourceOf(link, ranges) }, ...rest];
  },
  emit(view, part, builder) {
    const link = bestLink(view, part.axis, part.ranges);
    const [input] = part.inputs;
    if (link === undefined || input === undefined) return '';
    const held = heldOf(link, part.ranges, input.order);
    const exact = size(held) === size(part.ranges);
    const sameBatch = view.inputShape(0)[0] === view.outputShape[0];
    const shape = view.outputShape.map((dim, i) => {
      if (i === part.axis) return size(held);
      if (i !== 0 || part.axis === 0 || link.inputAxis === 0) return dim;
      // 0 copies the input's own length and -1 takes what is left: both leave the batch axis open.
      return sameBatch ? 0 : -1;
    });
    const target = builder.constant(int64Tensor(shape), 'shape');
    const output = exact ? part.output : undefined;
    const reshaped = builder.node('Reshape', [input.name, target], noAttributes, output);
    if (exact) return reshaped;
    const positions = positionsWithin(held, part.ranges);
    return emitSelection(builder, reshaped, part.axis, positions, size(held), part.output);
  },
};
