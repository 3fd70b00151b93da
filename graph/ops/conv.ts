/**
 * Conv (ONNX opset 11): X[N,C,D1..], W[M,C/group,k1..], B[M] -> Y[N,M,O1..].
 * Divided by output channels: with one group a part needs every input channel, in any order; with several,
 * the channels of the groups it touches. Divided along a spatial axis: a part needs the windows it slides over.
 */
import { intAttribute, withAttributes } from '../graph.ts';
import { intersect, normalise, positionsWithin, type Ranges, range, size, union } from '../ranges.ts';
import { elementCount } from '../tensor.ts';
import { inputNames, type Need, type NodeView, type OpRule, type Part, type PartBuilder } from './rule.ts';
import { emitConcat, emitSelection } from './select.ts';
import { emitWindows, windowNeeds, windowOf } from './window.ts';

interface Groups {
  readonly count: number;
  /** Input and output channels of one group. */
  readonly inputs: number;
  readonly outputs: number;
}

function groupsOf(view: NodeView): Groups {
  const count = intAttribute(view.node, 'group', 1);
  return {
    count,
    inputs: (view.inputShape(0)[1] ?? 1) / count,
    outputs: (view.outputShape[1] ?? 1) / count,
  };
}

/** Output channels that one node can make: some whole groups, or a part of one. */
interface Segment {
  readonly groups: readonly number[];
  readonly outputs: Ranges;
}

function segmentsOf(groups: Groups, ranges: Ranges): Segment[] {
  const result: Segment[] = [];
  let run: Segment | undefined;
  for (let group = 0; group < groups.count; group++) {
    const outputs = intersect(ranges, range(group * groups.outputs, (group + 1) * groups.outputs));
    if (outputs.length === 0) continue;
    if (size(outputs) < groups.outputs) {
      run = undefined;
      result.push({ groups: [group], outputs });
    } else if (run === undefined) {
      run = { groups: [group], outputs };
      result.push(run);
    } else {
      run = { groups: [...run.groups, group], outputs: union(run.outputs, outputs) };
      result[result.length - 1] = run;
    }
  }
  return result;
}

function inputChannels(groups: Groups, segment: Segment): Ranges {
  return normalise(
    segment.groups.map((group) => [group * groups.inputs, (group + 1) * groups.inputs] as const),
  );
}

/** Multiply-accumulates for one output channel. */
function macsPerOutput(view: NodeView, inputs: number): number {
  const kernel = elementCount(view.inputShape(1).slice(2));
  const pixels = (view.outputShape[0] ?? 1) * elementCount(view.outputShape.slice(2));
  return pixels * kernel * inputs;
}

function emitConv(
  view: NodeView,
  builder: PartBuilder,
  input: string,
  inputOrder: Ranges,
  segment: Segment,
  groups: Groups,
  output: string | undefined,
): string {
  const [, weight = '', bias = ''] = view.node.inputs;
  const columns = groups.count === 1 ? { 1: inputOrder } : {};
  const inputs = [input, builder.weight(weight, { 0: segment.outputs, ...columns })];
  if (bias !== '') inputs.push(builder.weight(bias, { 0: segment.outputs }));
  builder.countMacs(size(segment.outputs) * macsPerOutput(view, groups.inputs));
  const attributes = withAttributes(view.node, { group: { type: 'int', value: segment.groups.length } });
  return builder.node('Conv', inputs, attributes, output);
}

function kernelOf(view: NodeView): readonly number[] {
  return view.inputShape(1).slice(2);
}

function rowNeeds(view: NodeView, axis: number, ranges: Ranges): Need[] | undefined {
  const needed = windowNeeds(windowOf(view, kernelOf(view), axis), ranges);
  if (needed === undefined) return undefined;
  const rest = view.node.inputs.slice(1).map((input, i): Need => {
    return input === '' || view.isConstant(i + 1) ? 'none' : 'whole';
  });
  return [{ axis, ranges: needed }, ...rest];
}

function emitRows(view: NodeView, part: Part, builder: PartBuilder): string {
  const rest = inputNames(view, part, builder).slice(1);
  const rows = view.outputShape[part.axis] ?? 1;
  builder.countMacs((wholeMacs(view) * size(part.ranges)) / rows);
  return emitWindows(view, part, builder, windowOf(view, kernelOf(view), part.axis), rest);
}

function wholeMacs(view: NodeView): number {
  return (view.outputShape[1] ?? 1) * macsPerOutput(view, groupsOf(view).inputs);
}

export const conv: OpRule = {
  kind: 'contraction',
  needs(view, { axis, ranges }) {
    if (axis === 0) return undefined;
    if (axis >= 2) return rowNeeds(view, axis, ranges);
    if (!view.isConstant(1)) return undefined;
    const groups = groupsOf(view);
    if (groups.count === 1)
      return [{ axis: 1, ranges: range(0, groups.inputs), anyOrder: true }, 'none', 'none'];
    const needed = segmentsOf(groups, ranges).map((segment) => inputChannels(groups, segment));
    return [{ axis: 1, ranges: union(...needed) }, 'none', 'none'];
  },
  emit(view, part, builder) {
    if (part.axis >= 2) return emitRows(view, part, builder);
    const groups = groupsOf(view);
    const [input] = part.inputs;
    if (input === undefined) return '';
    const segments = segmentsOf(groups, part.ranges);
    const pieces = segments.map((segment) => {
      const channels = groups.count === 1 ? input.order : inputChannels(groups, segment);
      const name =
        groups.count === 1
          ? input.name
          : emitSelection(builder, input.name, 1, positionsWithin(input.order, channels), size(input.order));
      const output = segments.length === 1 ? part.output : undefined;
      return emitConv(view, builder, name, channels, segment, groups, output);
    });
    return emitConcat(builder, pieces, 1, part.output);
  },
  macs: wholeMacs,
};
