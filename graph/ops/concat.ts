/** Concat (opset 13) along its own axis: each input gives the indices that lie in its stretch. */
import { concatAttributes } from '../attributes/moves.ts';
import { intersect, range, shift } from '../ranges.ts';
import { type Need, type OpRule, positiveAxis } from './rule.ts';
import { emitConcat } from './select.ts';

export const concat: OpRule = {
  kind: 'structural',
  doc: {
    channels: 'the channels that lie in each input; of the others nothing',
    rows: 'the same rows of every input',
    others: 'likewise',
  },
  needs(view, slab) {
    const axis = positiveAxis(concatAttributes(view.node).axis, view.outputShape.length);
    let start = 0;
    return view.node.inputs.map((_, i): Need => {
      const length = view.inputShape(i)[axis] ?? 0;
      const own = axis === slab.axis ? intersect(slab.ranges, range(start, start + length)) : undefined;
      const offset = start;
      start += length;
      if (own?.length === 0 || view.isConstant(i)) return 'none';
      return own === undefined ? slab : { axis, ranges: shift(own, -offset) };
    });
  },
  emit(view, part, builder) {
    const axis = positiveAxis(concatAttributes(view.node).axis, view.outputShape.length);
    let start = 0;
    const pieces = view.node.inputs.flatMap((input, i) => {
      const length = view.inputShape(i)[axis] ?? 0;
      const along = axis === part.axis ? intersect(part.ranges, range(start, start + length)) : undefined;
      const selection = along === undefined ? part.ranges : shift(along, -start);
      start += length;
      if (selection.length === 0) return [];
      return [
        view.isConstant(i) ? builder.weight(input, { [part.axis]: selection }) : (part.inputs[i]?.name ?? ''),
      ];
    });
    return emitConcat(builder, pieces, axis, part.output);
  },
};
