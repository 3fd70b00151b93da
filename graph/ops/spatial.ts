/**
 * Operators that treat every channel (and every sample) alike and mix only what lies along other axes:
 * pooling, reductions, softmax, resizing. A part along an axis they leave alone is the node itself.
 */
import { intAttribute, intsAttribute, withAttributes } from '../graph.ts';
import { size } from '../ranges.ts';
import { int64Tensor, readIntegers } from '../tensor.ts';
import { inputNames, type Need, type NodeView, type OpRule, positiveAxis, type Slab } from './rule.ts';
import { emitWindows, windowNeeds, windowOf } from './window.ts';

function passThrough(view: NodeView, slab: Slab): Need[] {
  return view.node.inputs.map((input, i) => {
    if (input === '' || view.isConstant(i)) return 'none';
    return i === 0 ? slab : 'whole';
  });
}

const emitUnchanged: OpRule['emit'] = (view, part, builder) =>
  builder.node(view.node.opType, inputNames(view, part, builder), view.node.attributes, part.output);

/** GlobalAveragePool, GlobalMaxPool, GlobalLpPool: one map in, one number out. */
export const globalPool: OpRule = {
  kind: 'pointwise',
  needs: (view, slab) => (slab.axis <= 1 ? passThrough(view, slab) : undefined),
  emit: emitUnchanged,
};

/** MaxPool, AveragePool (opset 11) and LpPool: channel by channel, windows along the spatial axes. */
export const pool: OpRule = {
  kind: 'pointwise',
  needs(view, slab) {
    if (slab.axis <= 1) return passThrough(view, slab);
    const kernel = intsAttribute(view.node, 'kernel_shape') ?? [];
    const ranges = windowNeeds(windowOf(view, kernel, slab.axis), slab.ranges);
    return ranges === undefined ? undefined : [{ axis: slab.axis, ranges }];
  },
  emit(view, part, builder) {
    if (part.axis <= 1) return emitUnchanged(view, part, builder);
    const kernel = intsAttribute(view.node, 'kernel_shape') ?? [];
    return emitWindows(view, part, builder, windowOf(view, kernel, part.axis), []);
  },
};

/** Softmax and LogSoftmax (opset 13): normalised along `axis`, alike along the others. */
export const softmax: OpRule = {
  kind: 'pointwise',
  needs(view, slab) {
    const axis = positiveAxis(intAttribute(view.node, 'axis', -1), view.outputShape.length);
    return slab.axis === axis ? undefined : passThrough(view, slab);
  },
  emit: emitUnchanged,
};

/** The axes a Reduce* node reduces: attribute up to opset 13/18, ReduceSum's second input from 13. */
function reducedAxes(view: NodeView): number[] | undefined {
  const rank = view.inputShape(0).length;
  const attribute = intsAttribute(view.node, 'axes');
  if (attribute !== undefined) return attribute.map((axis) => positiveAxis(axis, rank));
  if ((view.node.inputs[1] ?? '') === '') return Array.from({ length: rank }, (_, i) => i);
  const constant = view.constant(1);
  return constant === undefined ? undefined : readIntegers(constant).map((axis) => positiveAxis(axis, rank));
}

/** Output axis -> input axis for a reduction that drops its axes. */
function sourceAxis(view: NodeView, reduced: readonly number[], axis: number): number | undefined {
  if (intAttribute(view.node, 'keepdims', 1) === 1) return axis;
  const kept = view
    .inputShape(0)
    .map((_, i) => i)
    .filter((i) => !reduced.includes(i));
  return kept[axis];
}

export const reduce: OpRule = {
  kind: 'pointwise',
  needs(view, slab) {
    const reduced = reducedAxes(view);
    if (reduced === undefined) return undefined;
    const axis = sourceAxis(view, reduced, slab.axis);
    if (axis === undefined || reduced.includes(axis)) return undefined;
    return passThrough(view, { axis, ranges: slab.ranges });
  },
  emit: emitUnchanged,
};

/** ArgMax and ArgMin: alike along every axis but their own. */
export const argReduce: OpRule = {
  kind: 'pointwise',
  needs(view, slab) {
    const rank = view.inputShape(0).length;
    const reduced = [positiveAxis(intAttribute(view.node, 'axis', 0), rank)];
    const axis = sourceAxis(view, reduced, slab.axis);
    if (axis === undefined || reduced.includes(axis)) return undefined;
    return passThrough(view, { axis, ranges: slab.ranges });
  },
  emit: emitUnchanged,
};

/** Resize (opset 13): X, roi, scales, sizes. Divided along axes that keep their length. */
export const resize: OpRule = {
  kind: 'pointwise',
  needs(view, slab) {
    const { axis } = slab;
    const sameLength = view.inputShape(0)[axis] === view.outputShape[axis];
    const usesRoi =
      view.node.attributes.get('coordinate_transformation_mode')?.value === 'tf_crop_and_resize';
    return sameLength && !usesRoi && axis <= 1 ? passThrough(view, slab) : undefined;
  },
  emit(view, part, builder) {
    const inputs = inputNames(view, part, builder);
    const sizes = (view.node.inputs[3] ?? '') === '' ? undefined : view.constant(3);
    if (sizes !== undefined) {
      const dims = readIntegers(sizes).map((dim, i) => (i === part.axis ? size(part.ranges) : dim));
      inputs[3] = builder.constant(int64Tensor(dims), 'sizes');
    }
    return builder.node('Resize', inputs, view.node.attributes, part.output);
  },
};

/** BatchNormalization (opset 15, inference) where it could not be folded: all parameters follow the channel. */
export const batchNormalization: OpRule = {
  kind: 'pointwise',
  needs: (view, slab) =>
    slab.axis === 1 && [1, 2, 3, 4].every((i) => view.isConstant(i)) ? passThrough(view, slab) : undefined,
  emit(view, part, builder) {
    const parameters = view.node.inputs.slice(1).map((name) => builder.weight(name, { 0: part.ranges }));
    const attributes = withAttributes(view.node, { training_mode: null });
    return builder.node(
      'BatchNormalization',
      [part.inputs[0]?.name ?? '', ...parameters],
      attributes,
      part.output,
    );
  },
};
