/** Transpose (opset 13): the part's axis is renamed. */
import { transposeAttributes } from '../attributes/moves.ts';
import { partwise } from './partwise.ts';

export const transpose = partwise({
  kind: 'structural',
  doc: { channels: 'the axis they come from', rows: 'the axis they come from', others: 'likewise' },
  inputs(view, slab) {
    const { perm } = transposeAttributes(view.node, view.outputShape.length);
    return [{ axis: perm[slab.axis] ?? slab.axis, ranges: slab.ranges }];
  },
});
