/**
 * Reshape, Flatten, Squeeze and Unsqueeze (opset 13): the elements keep their order, so an output axis
 * is a run of one input axis, a part of it, or several of its indices together.
 */
import { withAttributes } from '../graph.ts';
import { normalise, positionsWithin, type Ranges, size } from '../ranges.ts';
import { elementCount, int64Tensor } from '../tensor.ts';
import type { NodeView, OpRule } from './rule.ts';
import { emitSelection } from './select.ts';

/** How an output axis lies on an input axis: elements per index on either side. */
interface AxisLink {
  readonly inputAxis: number;
  readonly inputInner: number;
  readonly outputInner: number;
}

function linkOf(view: NodeView, axis: number): AxisLink | undefined {
  const input = view.inputShape(0);
  const output = view.outputShape;
  const outer = elementCount(output.slice(0, axis));
  const outputInner = elementCount(output.slice(axis + 1));
  const extent = (output[axis] ?? 1) * outputInner;
  for (let inputAxis = 0; inputAxis < input.length; inputAxis++) {
    if (elementCount(input.slice(0, inputAxis)) !== outer || input[inputAxis] === 1) continue;
    const inputInner = elementCount(input.slice(inputAxis + 1));
    const divides = inputInner % outputInner === 0 || outputInner % inputInner === 0;
    // The output axis may also cover only the head of a longer input axis ([C] -> [h, C/h], axis h).
    if (divides && (input[inputAxis] ?? 1) * inputInner === extent)
      return { inputAxis, inputInner, outputInner };
  }
  return undefined;
}

/** Input indices that hold the elements of these output indices (a superset where an input index spans several). */
function sourceRanges(link: AxisLink, ranges: Ranges): Ranges {
  return normalise(
    ranges.map(([start, end]) => [
      Math.floor((start * link.outputInner) / link.inputInner),
      Math.ceil((end * link.outputInner) / link.inputInner),
    ]),
  );
}

/** The same indices seen from the output: what a reshape of the source ranges holds. */
function heldRanges(link: AxisLink, source: Ranges): Ranges {
  return source.map(([start, end]) => [
    (start * link.inputInner) / link.outputInner,
    (end * link.inputInner) / link.outputInner,
  ]);
}

export const reshape: OpRule = {
  kind: 'structural',
  needs(view, { axis, ranges }) {
    const link = linkOf(view, axis);
    if (link === undefined) return undefined;
    const source = sourceRanges(link, ranges);
    const whole = heldRanges(link, source).every(([s, e]) => Number.isInteger(s) && Number.isInteger(e));
    if (!whole) return undefined;
    return [
      { axis: link.inputAxis, ranges: source },
      ...view.node.inputs.slice(1).map(() => 'none' as const),
    ];
  },
  emit(view, part, builder) {
    const link = linkOf(view, part.axis);
    const [input] = part.inputs;
    if (link === undefined || input === undefined) return '';
    const held = heldRanges(link, input.order);
    const exact = size(held) === size(part.ranges);
    const sameBatch = part.axis !== 0 && view.inputShape(0)[0] === view.outputShape[0];
    const shape = view.outputShape.map((dim, i) => {
      if (i === part.axis) return size(held);
      // 0 copies the input's own length, which leaves the batch axis open.
      return i === 0 && sameBatch ? 0 : dim;
    });
    const reshaped = builder.node(
      'Reshape',
      [input.name, builder.constant(int64Tensor(shape), 'shape')],
      withAttributes({ ...view.node, attributes: new Map() }, {}),
      exact ? part.output : undefined,
    );
    if (exact) return reshaped;
    const positions = positionsWithin(held, part.ranges);
    return emitSelection(builder, reshaped, part.axis, positions, size(held), part.output);
  },
};
