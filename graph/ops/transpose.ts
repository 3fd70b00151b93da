/** Transpose (opset 13): the part's axis is renamed. */
import { intsAttribute } from '../graph.ts';
import { partwise } from './partwise.ts';

export const transpose = partwise({
  kind: 'structural',
  doc: { channels: 'the axis they come from', rows: 'the axis they come from', others: 'likewise' },
  inputs(view, slab) {
    const rank = view.outputShape.length;
    const perm = intsAttribute(view.node, 'perm') ?? Array.from({ length: rank }, (_, i) => rank - 1 - i);
    return [{ axis: perm[slab.axis] ?? slab.axis, ranges: slab.ranges }];
  },
});
