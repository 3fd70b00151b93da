/** Operators that move blocks of pixels to channels and back: DepthToSpace and SpaceToDepth (opset 13). */
import { depthToSpaceAttributes, spaceToDepthAttributes } from '../attributes/moves.ts';
import { fromIndices, normalise, positionsWithin, type Ranges, size, toIndices } from '../ranges.ts';
import type { Need, OpRule, Slab } from './rule.ts';
import { emitSelection } from './select.ts';

/** Input rows whose blocks hold these output rows. */
function blockRows(slab: Slab, blocksize: number, length: number): Need[] {
  const ranges = slab.ranges.map(
    ([start, end]) => [Math.floor(start / blocksize), Math.min(length, Math.ceil(end / blocksize))] as const,
  );
  return [{ axis: slab.axis, ranges: normalise(ranges) }];
}

/**
 * DepthToSpace (opset 13). Output channel c comes from the blocksize^2 input channels k*C + c (DCR) or
 * c*blocksize^2 + k (CRD).
 */
export const depthToSpace: OpRule = {
  kind: 'structural',
  doc: { channels: 'the blocksize² input channels of each', rows: 'the rows of the blocks they lie in' },
  needs(view, slab) {
    if (view.isConstant(0)) return undefined;
    const { blocksize, mode } = depthToSpaceAttributes(view.node);
    if (slab.axis >= 2) return blockRows(slab, blocksize, view.inputShape(0)[slab.axis] ?? 0);
    if (slab.axis !== 1) return undefined;
    const block = blocksize ** 2;
    const channels = view.outputShape[1] ?? 1;
    const crd = mode === 'CRD';
    const source = (c: number) =>
      Array.from({ length: block }, (_, k) => (crd ? c * block + k : k * channels + c));
    return [{ axis: 1, ranges: fromIndices(toIndices(slab.ranges).flatMap(source)) }];
  },
  emit(view, part, builder) {
    const name = part.inputs[0]?.name ?? '';
    const { blocksize } = depthToSpaceAttributes(view.node);
    const held =
      part.axis >= 2
        ? part.inputs[0]?.order.map(([s, e]) => [s * blocksize, e * blocksize] as const)
        : undefined;
    const exact = held === undefined || size(held) === size(part.ranges);
    const all = builder.node('DepthToSpace', [name], view.node.attributes, exact ? part.output : undefined);
    if (exact) return all;
    return emitSelection(
      builder,
      all,
      part.axis,
      positionsWithin(held, part.ranges),
      size(held),
      part.output,
    );
  },
};

/** SpaceToDepth (opset 13). Output channel k*C + c is pixel k of the blocks of input channel c. */
export const spaceToDepth: OpRule = {
  kind: 'structural',
  doc: { channels: 'the input channels whose pixels they hold', rows: 'the rows of their blocks' },
  needs(view, { axis, ranges }) {
    const { blocksize } = spaceToDepthAttributes(view.node);
    if (axis === 0 || view.isConstant(0)) return undefined;
    if (axis >= 2) return [{ axis, ranges: ranges.map(([s, e]) => [s * blocksize, e * blocksize] as const) }];
    const channels = view.inputShape(0)[1] ?? 1;
    return [{ axis, ranges: fromIndices(toIndices(ranges).map((index) => index % channels)) }];
  },
  emit(view, part, builder) {
    const { name = '', order = [] } = part.inputs[0] ?? {};
    const block = spaceToDepthAttributes(view.node).blocksize ** 2;
    const channels = view.inputShape(0)[1] ?? 1;
    const pixels = Array.from({ length: block }, (_, k) => k);
    const held: Ranges =
      part.axis === 1
        ? normalise(
            pixels.flatMap((k) => order.map(([s, e]) => [s + k * channels, e + k * channels] as const)),
          )
        : part.ranges;
    const exact = size(held) === size(part.ranges);
    const all = builder.node('SpaceToDepth', [name], view.node.attributes, exact ? part.output : undefined);
    if (exact) return all;
    const positions = positionsWithin(held, part.ranges);
    return emitSelection(builder, all, part.axis, positions, size(held), part.output);
  },
};
