/**
 * Softmax, LogSoftmax and Hardmax before opset 13: they flattened the input to a matrix at `axis` and
 * normalised its rows; from 13 on they normalise along one axis.
 */
import { softmaxAttributes } from '../../attributes/reductions.ts';
import { withAttributes } from '../../graph.ts';
import { elementCount, int64Tensor } from '../../tensor.ts';
import { derivedNode, firstOutput, type LiftStep } from './liftRule.ts';

export const rowsToAxis: LiftStep = {
  below: 13,
  lift: (node, context) => {
    const [input = ''] = node.inputs;
    const shape = context.shape(input);
    const { axis: given } = softmaxAttributes(node, context.opset);
    const axis = given < 0 && shape !== undefined ? given + shape.length : given;
    // Rows that extend along one axis only are normalised along that axis.
    if (given === -1 || (shape !== undefined && elementCount(shape.slice(axis + 1)) === 1)) {
      return [
        {
          ...node,
          attributes: withAttributes(node, { axis: { type: 'int', value: given === -1 ? -1 : axis } }),
        },
      ];
    }
    const [flat, normalised] = [context.freshName(`${input}/flat`), context.freshName(`${input}/rows`)];
    const nodes = [
      derivedNode(node, 'Flatten', [input], flat, { axis: { type: 'int', value: axis } }),
      derivedNode(node, node.opType, [flat], normalised, { axis: { type: 'int', value: -1 } }),
    ];
    // -1 stands for the first axis, so that another batch passes too.
    if (shape !== undefined) {
      const target = context.addConstant(int64Tensor([-1, ...shape.slice(1)]), `${node.name}/shape`);
      return [...nodes, derivedNode(node, 'Reshape', [normalised, target], firstOutput(node))];
    }
    const target = context.freshName(`${input}/shape`);
    return [
      ...nodes,
      derivedNode(node, 'Shape', [input], target),
      derivedNode(node, 'Reshape', [normalised, target], firstOutput(node)),
    ];
  },
};
