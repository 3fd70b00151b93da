/** Operators whose attributes became inputs: axes, split sizes, limits, pads, slice bounds, k. */
import { clipAttributes } from '../../attributes/elementwise.ts';
import {
  padAttributes,
  sliceAttributes,
  splitAttributes,
  squeezeAttributes,
} from '../../attributes/moves.ts';
import { topKAttributes } from '../../attributes/reductions.ts';
import { type Node, withAttributes } from '../../graph.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../tensor.ts';
import { type LiftContext, type LiftStep, refuse } from './liftRule.ts';

/** Squeeze, Unsqueeze and ReduceSum before opset 13. */
export const axesToInput: LiftStep = {
  below: 13,
  lift: (node, context) => [intsToInput(node, 'axes', squeezeAttributes(node).axes, context)],
};

export const splitToInput: LiftStep = {
  below: 13,
  lift: (node, context) => [intsToInput(node, 'split', splitAttributes(node).split, context)],
};

export const topKToInput: LiftStep = {
  below: 10,
  lift: (node, context) => {
    const k = context.addConstant(int64Tensor([topKAttributes(node).k ?? 1]), `${node.name}/k`);
    return [{ ...node, inputs: [...node.inputs, k], attributes: withAttributes(node, { k: null }) }];
  },
};

export const sliceToInputs: LiftStep = {
  below: 10,
  lift: (node, context) => {
    const { starts = [], ends = [], axes = starts.map((_, i) => i) } = sliceAttributes(node);
    const inputs = [starts, ends, axes].map((list, i) =>
      context.addConstant(int64Tensor(list), `${node.name}/${['starts', 'ends', 'axes'][i]}`),
    );
    const attributes = withAttributes(node, { starts: null, ends: null, axes: null });
    return [{ ...node, inputs: [...node.inputs, ...inputs], attributes }];
  },
};

export const padToInputs: LiftStep = {
  below: 11,
  lift: (node, context) => {
    const { mode, pads = [], value } = padAttributes(node);
    const inputs = [...node.inputs, context.addConstant(int64Tensor(pads), `${node.name}/pads`)];
    if (mode === 'constant' && value !== 0) {
      inputs.push(context.addConstant(scalarLikeInput(node, value, context), `${node.name}/value`));
    }
    return [{ ...node, inputs, attributes: withAttributes(node, { pads: null, value: null }) }];
  },
};

export const clipToInputs: LiftStep = {
  below: 11,
  lift: (node, context) => {
    const limits = Object.entries(clipAttributes(node)).map(([name, limit]) => {
      if (limit === undefined) return '';
      return context.addConstant(scalarLikeInput(node, limit, context), `${node.name}/${name}`);
    });
    while (limits.at(-1) === '') limits.pop();
    return [
      {
        ...node,
        inputs: [...node.inputs, ...limits],
        attributes: withAttributes(node, { min: null, max: null }),
      },
    ];
  },
};

function intsToInput(
  node: Node,
  name: string,
  list: readonly number[] | undefined,
  context: LiftContext,
): Node {
  if (list === undefined) return node;
  const input = context.addConstant(int64Tensor(list), `${node.name}/${name}`);
  return { ...node, inputs: [...node.inputs, input], attributes: withAttributes(node, { [name]: null }) };
}

/** A scalar of the data type of the node's first input. */
function scalarLikeInput(node: Node, value: number, context: LiftContext): Tensor {
  const dataType = context.dataType(node.inputs[0] ?? '') ?? 'float32';
  if (dataType === 'float32') return float32Tensor([], [value]);
  if (dataType === 'float64')
    return { dataType, dims: [], data: new Uint8Array(Float64Array.of(value).buffer) };
  return refuse(node, context, `its limits or padding are floats, and its input is ${dataType}`);
}
