/** Operators that repeat their input: Expand (opset 13) and Tile (opset 13). */
import { fromIndices, size, toIndices } from '../ranges.ts';
import { int64Tensor, readIntegers } from '../tensor.ts';
import { aligned, type InputPart } from './partwise.ts';
import { needUnlessConstant, type OpRule } from './rule.ts';
import { emitSelection, inOrder } from './select.ts';

/** Expand: input, shape. */
export const expand: OpRule = {
  kind: 'structural',
  doc: {
    channels: 'the same channels; the input whole where it is repeated along them',
    rows: 'the same rows; the input whole where it is repeated along them',
    others: 'likewise',
  },
  needs: (view, slab) =>
    view.isConstant(1) ? [needUnlessConstant(view, 0, aligned(view, 0, slab)), 'none'] : undefined,
  emit(view, part, builder) {
    const [input = ''] = view.node.inputs;
    const own: InputPart = aligned(view, 0, part);
    const selections = own === 'whole' ? {} : { [own.axis]: own.ranges };
    const name = view.isConstant(0) ? builder.weight(input, selections) : (part.inputs[0]?.name ?? '');
    const shape = view.outputShape.map((dim, axis) => {
      // 1 keeps the input's own length, which leaves the batch axis open.
      if (aligned(view, 0, { axis, ranges: [] }) !== 'whole') return 1;
      return axis === part.axis ? size(part.ranges) : dim;
    });
    const target = builder.constant(int64Tensor(shape), 'shape');
    return builder.node('Expand', [name, target], view.node.attributes, part.output);
  },
};

/** Tile: input, repeats. Along the slab's axis the wanted indices are selected instead. */
export const tile: OpRule = {
  kind: 'structural',
  doc: {
    channels: 'the channels that are repeated there',
    rows: 'the rows that are repeated there',
    others: 'likewise',
  },
  needs(view, { axis, ranges }) {
    if (view.constant(1) === undefined || view.isConstant(0)) return undefined;
    const length = view.inputShape(0)[axis] ?? 1;
    return [{ axis, ranges: fromIndices(toIndices(ranges).map((index) => index % length)) }, 'none'];
  },
  emit(view, part, builder) {
    const { name = '', order = [] } = part.inputs[0] ?? {};
    const constant = view.constant(1);
    const length = view.inputShape(0)[part.axis] ?? 1;
    const local = new Map(toIndices(order).map((index, position) => [index, position]));
    const positions = inOrder(toIndices(part.ranges).map((index) => local.get(index % length) ?? 0));
    const repeats = (constant === undefined ? [] : readIntegers(constant)).map((count, axis) =>
      axis === part.axis ? 1 : count,
    );
    const last = repeats.every((count) => count === 1) ? part.output : undefined;
    const selected = emitSelection(builder, name, part.axis, positions, size(order), last);
    if (last !== undefined) return selected;
    const counts = builder.constant(int64Tensor(repeats), 'repeats');
    return builder.node('Tile', [selected, counts], view.node.attributes, part.output);
  },
};
