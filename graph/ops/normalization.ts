/** Normalisations by means and variances: alike along every axis over which no moment is taken. */
import {
  layerNormalizationAttributes,
  lpNormalizationAttributes,
  lrnAttributes,
  meanVarianceNormalizationAttributes,
} from '../attributes/normalisations.ts';
import { withAttributes } from '../graph.ts';
import { normalise, positionsWithin, type Ranges, range, size } from '../ranges.ts';
import { alongOtherAxes, type InputPart, partwise } from './partwise.ts';
import { type NodeView, needUnlessConstant, type OpRule, positiveAxis, type Slab } from './rule.ts';
import { emitSelection } from './select.ts';

/** The slab of X, and of each parameter [C] the same channels. */
function withChannelParameters(view: NodeView, slab: Slab): InputPart[] {
  return view.node.inputs.map((_, i) => {
    if (i === 0) return slab;
    return slab.axis === 1 ? { axis: 0, ranges: slab.ranges } : 'whole';
  });
}

/** BatchNormalization (opset 15, inference) where it could not be folded: X, scale, B, mean, var. */
export const batchNormalization: OpRule = partwise({
  kind: 'pointwise',
  doc: { channels: 'the same channels of the input and of the parameters', rows: 'the same rows' },
  inputs: withChannelParameters,
  attributes: (view) => withAttributes(view.node, { training_mode: null }),
});

/** InstanceNormalization (opset 6): input, scale, B. Moments over the spatial axes. */
export const instanceNormalization: OpRule = partwise({
  kind: 'pointwise',
  doc: { channels: 'the same channels', rows: 'the same rows; moments are exchanged' },
  inputs: (view, slab) => (slab.axis <= 1 ? withChannelParameters(view, slab) : undefined),
});

/** LayerNormalization's axes of moments (opset 17): axis = -1 and all after it. */
export function layerAxes(view: NodeView): readonly number[] {
  const rank = view.outputShape.length;
  const first = positiveAxis(layerNormalizationAttributes(view.node).axis, rank);
  return Array.from({ length: rank - first }, (_, i) => first + i);
}

/** LayerNormalization (opset 17): X, Scale, B. */
export const layerNormalization: OpRule = partwise({
  kind: 'pointwise',
  doc: {
    channels: 'the same channels; moments are exchanged where they are taken over channels',
    rows: 'tokens: the same, where they lie before `axis`',
    others: 'the same indices of any axis before `axis`',
  },
  inputs(view, slab) {
    const rank = view.outputShape.length;
    const [axis = rank] = layerAxes(view);
    const parameters = view.node.inputs.map((name, i) => (name === '' ? 0 : view.inputShape(i).length));
    // A scale that reaches before `axis` would be broadcast along the slab.
    if (slab.axis >= axis || parameters.slice(1).some((length) => length > rank - axis)) return undefined;
    return view.node.inputs.map((_, i) => (i === 0 ? slab : 'whole'));
  },
});

/** LpNormalization's axis (opset 1): axis = -1. */
export function normAxis(view: NodeView): readonly number[] {
  return [positiveAxis(lpNormalizationAttributes(view.node).axis, view.outputShape.length)];
}

/** LpNormalization (opset 1): divided by the norm along `axis`. */
export const lpNormalization: OpRule = alongOtherAxes(
  {
    channels: 'the same channels; normalised along them: sums are exchanged',
    rows: 'the same rows; likewise',
    others: 'the same indices, except along `axis`',
  },
  normAxis,
);

/** MeanVarianceNormalization's axes (opset 13): axes = [0, 2, 3]. */
export function meanVarianceAxes(view: NodeView): readonly number[] {
  const { axes } = meanVarianceNormalizationAttributes(view.node);
  return axes.map((axis) => positiveAxis(axis, view.outputShape.length));
}

/** MeanVarianceNormalization (opset 13): moments over `axes`. */
export const meanVarianceNormalization: OpRule = alongOtherAxes(
  {
    channels: 'the same channels; moments are exchanged where they are among `axes`',
    rows: 'the same rows; likewise (they are among `axes` by default)',
    others: 'the same indices of an axis that is not among `axes`',
  },
  meanVarianceAxes,
);

/** Channels within reach of LRN's window of `size` around each. */
function lrnReach(view: NodeView, ranges: Ranges): Ranges {
  const { size: length } = lrnAttributes(view.node);
  const before = Math.floor((length - 1) / 2);
  const after = Math.ceil((length - 1) / 2);
  const channels = view.outputShape[1] ?? 1;
  const reached = ranges.map(([s, e]) => [Math.max(0, s - before), Math.min(channels, e + after)] as const);
  return normalise(reached);
}

/** LRN (opset 13): squares summed over neighbouring channels; a part has a halo of channels. */
export const lrn: OpRule = {
  kind: 'pointwise',
  doc: { channels: 'the same channels and half a window of neighbours', rows: 'the same rows' },
  needs(view, { axis, ranges }) {
    const needed = axis === 1 ? lrnReach(view, ranges) : ranges;
    // Channels that are not neighbours must not come to lie within one window.
    if (axis === 1 && needed.length > 1) return [needUnlessConstant(view, 0, { axis, ranges: hull(needed) })];
    return [needUnlessConstant(view, 0, { axis, ranges: needed })];
  },
  emit(view, part, builder) {
    const { name = '', order = [] } = part.inputs[0] ?? {};
    const exact = size(order) === size(part.ranges);
    const all = builder.node('LRN', [name], view.node.attributes, exact ? part.output : undefined);
    const positions = positionsWithin(order, part.ranges);
    return emitSelection(builder, all, part.axis, positions, size(order), part.output);
  },
};

function hull(ranges: Ranges): Ranges {
  return range(ranges[0]?.[0] ?? 0, ranges.at(-1)?.[1] ?? 0);
}
