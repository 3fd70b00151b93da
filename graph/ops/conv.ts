/**
 * Conv (ONNX opset 11): X[N,C,D1..], W[M,C/group,k1..], B[M] -> Y[N,M,O1..], and its integer forms ConvInteger and
 * QLinearConv (opset 10). Divided by output channels: with one group a part needs every input channel, in any order;
 * with several, the channels of the groups it touches. Divided along a spatial axis: the windows it slides over.
 */
import { convAttributes } from '../attributes/windows.ts';
import { withAttributes } from '../graph.ts';
import { positionsWithin, type Ranges, range, size, union } from '../ranges.ts';
import { elementCount } from '../tensor.ts';
import { type Groups, inputChannels, type Segment, segmentsOf } from './groups.ts';
import {
  inputNames,
  type LocalInput,
  type NodeView,
  needUnlessConstant,
  type OpRule,
  type Part,
  type PartBuilder,
} from './rule.ts';
import { emitConcat, emitSelection } from './select.ts';
import { emitWindows, windowNeeds, windowOf } from './window.ts';

/** Which inputs of a convolution are what. */
interface ConvInputs {
  readonly weight: number;
  /** Inputs of one value per output channel, or of one for all. */
  readonly perOutput: readonly number[];
}

function groupsOf(view: NodeView): Groups {
  const { group: count } = convAttributes(view.node, view.outputShape.length - 2);
  return {
    count,
    inputs: (view.inputShape(0)[1] ?? 1) / count,
    outputs: (view.outputShape[1] ?? 1) / count,
  };
}

function convolution(roles: ConvInputs): OpRule {
  const kernelOf = (view: NodeView) => view.inputShape(roles.weight).slice(2);

  /** Multiply-accumulates for one output channel. */
  const macsPerOutput = (view: NodeView): number => {
    const pixels = (view.outputShape[0] ?? 1) * elementCount(view.outputShape.slice(2));
    return pixels * elementCount(kernelOf(view)) * groupsOf(view).inputs;
  };
  const macs = (view: NodeView) => (view.outputShape[1] ?? 1) * macsPerOutput(view);

  const emitSegment = (
    view: NodeView,
    builder: PartBuilder,
    { name, order }: LocalInput,
    segment: Segment,
    output: string | undefined,
  ): string => {
    const { count, inputs: channels } = groupsOf(view);
    const one = count === 1;
    const inputs = view.node.inputs.map((input, i) => {
      if (i === 0) return name;
      if (i === roles.weight)
        return builder.weight(input, { 0: segment.outputs, ...(one ? { 1: order } : {}) });
      if (input === '') return '';
      const perOutput = roles.perOutput.includes(i) && (view.inputShape(i)[0] ?? 1) > 1;
      return builder.weight(input, perOutput ? { 0: segment.outputs } : {});
    });
    const columns = one ? size(order) : channels;
    builder.countMacs((size(segment.outputs) * macsPerOutput(view) * columns) / channels);
    const attributes = withAttributes(view.node, { group: { type: 'int', value: segment.groups.length } });
    return builder.node(view.node.opType, inputs, attributes, output);
  };

  const emitRows = (view: NodeView, part: Part, builder: PartBuilder): string => {
    const rest = inputNames(view, part, builder).slice(1);
    builder.countMacs((macs(view) * size(part.ranges)) / (view.outputShape[part.axis] ?? 1));
    const kernel = kernelOf(view);
    return emitWindows(view, part, builder, windowOf(view, kernel, part.axis), kernel, rest);
  };

  return {
    kind: 'contraction',
    doc: {
      channels:
        'all input channels, in any order; with groups, those of the groups touched. Weights constant',
      rows: 'the rows under its windows; weights whole',
    },
    needs(view, { axis, ranges }) {
      if (axis === 0) return undefined;
      const rest = view.node.inputs.slice(1).map((_, i) => needUnlessConstant(view, i + 1, 'whole'));
      if (axis >= 2) {
        const needed = windowNeeds(windowOf(view, kernelOf(view), axis), ranges);
        return needed === undefined
          ? undefined
          : [needUnlessConstant(view, 0, { axis, ranges: needed }), ...rest];
      }
      if (view.isConstant(0) || rest.some((need) => need !== 'none')) return undefined;
      const groups = groupsOf(view);
      if (groups.count === 1) return [{ axis, ranges: range(0, groups.inputs), anyOrder: true }, ...rest];
      const needed = segmentsOf(groups, ranges).map((segment) => inputChannels(groups, segment));
      return [{ axis, ranges: union(...needed) }, ...rest];
    },
    emit(view, part, builder) {
      const [input] = part.inputs;
      if (part.axis >= 2 || input === undefined) return emitRows(view, part, builder);
      const groups = groupsOf(view);
      const segments = segmentsOf(groups, part.ranges);
      const pieces = segments.map((segment) => {
        const output = segments.length === 1 ? part.output : undefined;
        if (groups.count === 1) return emitSegment(view, builder, input, segment, output);
        const channels = inputChannels(groups, segment);
        return emitSegment(view, builder, select(builder, input, channels), segment, output);
      });
      return emitConcat(builder, pieces, 1, part.output);
    },
    macs,
  };
}

function select(builder: PartBuilder, input: LocalInput, channels: Ranges): LocalInput {
  const positions = positionsWithin(input.order, channels);
  return { name: emitSelection(builder, input.name, 1, positions, size(input.order)), order: channels };
}

/** X, W, B. */
export const conv = convolution({ weight: 1, perOutput: [2] });

/** x, w, x_zero_point, w_zero_point (opset 10). */
export const convInteger = convolution({ weight: 1, perOutput: [3] });

/** x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B (opset 10). */
export const qLinearConv = convolution({ weight: 3, perOutput: [4, 5, 8] });
