/** QuantizeLinear and DequantizeLinear with what they gained after opset 17: scales of blocks are refused, types spelt out. */
import { quantizeLinearAttributes } from '../../attributes/elementwise.ts';
import { dataTypeOfCode } from '../../dataTypeCodes.ts';
import { type Node, withAttributes } from '../../graph.ts';
import { elementCount, type Tensor } from '../../tensor.ts';
import { inputAt, type LiftContext, type LiftStep, refuse } from './liftRule.ts';

/** Saturation concerns 8-bit floats only, which no model that loads has. */
function plain(node: Node, context: LiftContext): Node {
  const { blockSize, precision } = quantizeLinearAttributes(node);
  if (blockSize !== 0) refuse(node, context, 'it has a scale for every block');
  if (precision !== 0 && dataTypeOfCode(precision) !== 'float32')
    refuse(node, context, 'it computes in another precision than float32');
  const none = { saturate: null, block_size: null, output_dtype: null, precision: null };
  return { ...node, attributes: withAttributes(node, none) };
}

/** Until opset 20 the zero point alone said the type. */
export const quantizePlain: LiftStep = {
  from: 19,
  lift: (node, context) => {
    const { outputDtype } = quantizeLinearAttributes(node);
    const type = dataTypeOfCode(outputDtype);
    const quantised = plain(node, context);
    if (outputDtype === 0 || inputAt(node, 2) !== undefined || type === 'uint8') return [quantised];
    if (type !== 'int8') refuse(node, context, `it gives ${type ?? 'a type that Starling does not hold'}`);
    const [input = '', scale = ''] = node.inputs;
    const dims = context.shape(scale) ?? refuse(node, context, 'the shape of its scale is unknown');
    const zero: Tensor = { dataType: type, dims, data: new Uint8Array(elementCount(dims)) };
    return [{ ...quantised, inputs: [input, scale, context.addConstant(zero, `${node.name}/zero`)] }];
  },
};

/** The type of the scale is the type of the output. */
export const dequantizePlain: LiftStep = {
  from: 19,
  lift: (node, context) => {
    const { outputDtype } = quantizeLinearAttributes(node);
    const type = context.dataType(node.inputs[1] ?? '') ?? 'float32';
    if (outputDtype !== 0 && dataTypeOfCode(outputDtype) !== type)
      refuse(node, context, 'it gives another type than its scale has');
    return [plain(node, context)];
  },
};
