/** Operators that lost their training modes or attributes nobody used: batch normalisation, dropout, and smaller ones. */
import { batchNormalizationAttributes } from '../../attributes/normalisations.ts';
import { type Attribute, withAttributes } from '../../graph.ts';
import { derivedNode, firstOutput, type LiftStep, refuse } from './liftRule.ts';

export const batchNormalizationInference: LiftStep = {
  below: 14,
  lift: (node, context) => {
    if (!batchNormalizationAttributes(node).spatial)
      refuse(node, context, 'it normalises every position by itself');
    if (node.outputs.slice(1).some((output) => context.isUsed(output))) {
      refuse(node, context, 'its statistics are used, so it is in training mode');
    }
    return [{ ...node, outputs: [firstOutput(node)], attributes: withAttributes(node, { spatial: null }) }];
  },
};

/** In inference a dropout passes its input on; from opset 12 on the training mode is an input. */
export const dropoutToIdentity: LiftStep = {
  below: 12,
  lift: (node, context) => {
    if (node.outputs.slice(1).some((output) => context.isUsed(output)))
      refuse(node, context, 'its mask is used');
    return [derivedNode(node, 'Identity', node.inputs.slice(0, 1), firstOutput(node))];
  },
};

/** Opset 16 moved the sample points by half a pixel and named the old way. */
export const roiAlignOutputHalfPixel: LiftStep = {
  below: 16,
  lift: (node) => {
    const mode: Attribute = { type: 'string', value: 'output_half_pixel' };
    return [{ ...node, attributes: withAttributes(node, { coordinate_transformation_mode: mode }) }];
  },
};

export const scatterToElements: LiftStep = {
  below: 11,
  lift: (node) => [{ ...node, opType: 'ScatterElements' }],
};

/** The first Scan had a batch axis of its own. */
export const scanRefused: LiftStep = {
  below: 9,
  lift: (node, context) => refuse(node, context, 'Scan had another meaning then; export with a newer opset'),
};
