/** Operators that gained inputs or attributes after opset 17, brought back to their form of opset 17. */
import { padAttributes, scatterAttributes, splitAttributes } from '../../attributes/moves.ts';
import { reduceAttributes } from '../../attributes/reductions.ts';
import { gridSampleAttributes } from '../../attributes/resize.ts';
import { type Node, withAttributes } from '../../graph.ts';
import { int64Tensor, readIntegers } from '../../tensor.ts';
import { positiveAxis } from '../rule.ts';
import {
  derivedNode,
  firstOutput,
  inputAt,
  type LiftContext,
  type LiftStep,
  refuse,
  requireConstant,
} from './liftRule.ts';

const plainReductions = new Set(['ReduceMax', 'ReduceMin', 'ReduceMean', 'ReduceProd']);

/** All reductions but ReduceSum, whose axes were an input in opset 17 already. */
export const axesToAttribute: LiftStep = {
  from: 18,
  lift: (node, context) => {
    const [input = ''] = node.inputs;
    const { noopWithEmptyAxes: noop } = reduceAttributes(node);
    const axes =
      inputAt(node, 1) === undefined ? [] : readIntegers(requireConstant(node, 1, context, 'axes'));
    const attributes = withAttributes(node, {
      noop_with_empty_axes: null,
      axes: axes.length === 0 ? null : { type: 'ints', value: axes },
    });
    if (axes.length > 0 || !noop) return [{ ...node, inputs: [input], attributes }];
    if (!plainReductions.has(node.opType)) refuse(node, context, 'it reduces no axis');
    return [derivedNode(node, 'Identity', [input], firstOutput(node))];
  },
};

export const splitByOutputs: LiftStep = {
  from: 18,
  lift: (node, context) => {
    const plain = { ...node, attributes: withAttributes(node, { num_outputs: null }) };
    if (inputAt(node, 1) !== undefined) return [plain];
    const shape =
      context.shape(node.inputs[0] ?? '') ?? refuse(node, context, 'the shape of its input is unknown');
    const { axis } = splitAttributes(node);
    const length = shape.at(axis) ?? 0;
    const chunk = Math.ceil(length / node.outputs.length);
    const sizes = node.outputs.map((_, i) => Math.max(0, Math.min(chunk, length - i * chunk)));
    const split = context.addConstant(int64Tensor(sizes), `${node.name}/split`);
    return [{ ...plain, inputs: [node.inputs[0] ?? '', split] }];
  },
};

export const padWithoutAxes: LiftStep = {
  from: 18,
  lift: (node, context) => {
    const wraps = padAttributes(node).mode === 'wrap';
    if (inputAt(node, 3) === undefined && !wraps) return [node];
    const shape =
      context.shape(node.inputs[0] ?? '') ?? refuse(node, context, 'the rank of its input is unknown');
    const axes =
      inputAt(node, 3) === undefined
        ? shape.map((_, axis) => axis)
        : readIntegers(requireConstant(node, 3, context, 'axes'));
    const pads = readIntegers(requireConstant(node, 1, context, 'pads'));
    const all = new Array<number>(2 * shape.length).fill(0);
    axes.forEach((axis, i) => {
      const at = positiveAxis(axis, shape.length);
      all[at] = pads[i] ?? 0;
      all[at + shape.length] = pads[i + axes.length] ?? 0;
    });
    if (wraps) return wrapped(node, context, shape, all);
    const inputs = [node.inputs[0] ?? '', context.addConstant(int64Tensor(all), `${node.name}/pads`)];
    const value = inputAt(node, 2);
    return [{ ...node, inputs: value === undefined ? inputs : [...inputs, value] }];
  },
};

/** Padding that goes round what negative pads leave: one Gather for each axis that is longer or shorter after it. */
function wrapped(
  node: Node,
  context: LiftContext,
  shape: readonly number[],
  pads: readonly number[],
): readonly Node[] {
  const padded = shape.flatMap((length, axis) => {
    const [begin = 0, end = 0] = [pads[axis], pads[axis + shape.length]];
    const [first, left] = [Math.max(0, -begin), length + Math.min(0, begin) + Math.min(0, end)];
    const around = (index: number) => first + (((index % left) + left) % left);
    const indices = Array.from({ length: left + Math.max(0, begin) + Math.max(0, end) }, (_, i) =>
      around(i - Math.max(0, begin)),
    );
    return begin === 0 && end === 0 ? [] : [{ axis, indices }];
  });
  if (padded.length === 0) return [derivedNode(node, 'Identity', node.inputs.slice(0, 1), firstOutput(node))];
  let [value = ''] = node.inputs;
  return padded.map(({ axis, indices }, i) => {
    const last = i === padded.length - 1;
    const output = last ? firstOutput(node) : context.freshName(`${node.name}/axis${axis}`);
    const constant = context.addConstant(int64Tensor(indices), `${node.name}/indices${axis}`);
    const gather = derivedNode(node, 'Gather', [value, constant], output, {
      axis: { type: 'int', value: axis },
    });
    value = output;
    return { ...gather, name: last ? node.name : `${node.name}/axis${axis}` };
  });
}

const sampleModes: Readonly<Record<string, string>> = { linear: 'bilinear', cubic: 'bicubic' };

export const gridSampleModes: LiftStep = {
  from: 20,
  lift: (node) => {
    const { mode } = gridSampleAttributes(node);
    return [
      {
        ...node,
        attributes: withAttributes(node, { mode: { type: 'string', value: sampleModes[mode] ?? mode } }),
      },
    ];
  },
};

/** Saturation concerns 8-bit floats only, which no model that loads has. */
export const castWithoutSaturation: LiftStep = {
  from: 19,
  lift: (node) => [{ ...node, attributes: withAttributes(node, { saturate: null, round_mode: null }) }],
};

/** Opset 18 added the reductions max and min. */
export const scatterReduction: LiftStep = {
  from: 18,
  lift: (node: Node, context) => {
    const { reduction } = scatterAttributes(node);
    if (reduction === 'max' || reduction === 'min') refuse(node, context, `it reduces by ${reduction}`);
    return [node];
  },
};
