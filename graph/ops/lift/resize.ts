/**
 * Resize and its forerunner Upsample. Until opset 10 there was one way to map coordinates (divide by the
 * scale); opset 18 and 19 added attributes that opset 17 lacks.
 */
import { resizeAttributes, upsampleAttributes } from '../../attributes/resize.ts';
import { type Attribute, type Node, withAttributes } from '../../graph.ts';
import { float32Tensor, float32View, int64Tensor } from '../../tensor.ts';
import { positiveAxis } from '../rule.ts';
import {
  firstOutput,
  inputAt,
  type LiftContext,
  type LiftStep,
  refuse,
  requireConstant,
} from './liftRule.ts';

const asText = (value: string): Attribute => ({ type: 'string', value });

/** Upsample of opsets 7 (scales as attribute) and 9 (as input); opset 10 replaced it by Resize. */
export const upsampleToResize: LiftStep = {
  below: 10,
  lift: (node, context) => {
    const { scales: listed } = upsampleAttributes(node);
    const [input = ''] = node.inputs;
    const scales =
      listed !== undefined
        ? context.addConstant(float32Tensor([listed.length], listed), `${node.name}/scales`)
        : (inputAt(node, 1) ?? refuse(node, context, 'it has no scales'));
    const plain = { ...node, inputs: [input, scales], attributes: withAttributes(node, { scales: null }) };
    return [{ ...asymmetric(plain, context), opType: 'Resize' }];
  },
};

export const resizeToAsymmetric: LiftStep = {
  below: 11,
  lift: (node, context) => [asymmetric(node, context)],
};

function asymmetric(node: Node, context: LiftContext): Node {
  const [input = '', scalesName = ''] = node.inputs;
  const nearest = upsampleAttributes(node).mode === 'nearest';
  // ONNX Runtime rounds down where such a node enlarges and up where it shrinks.
  const scales = nearest ? float32View(requireConstant(node, 1, context, 'scales')) : [];
  const shrinks = scales.some((scale) => scale < 1);
  if (shrinks && scales.some((scale) => scale > 1)) {
    refuse(node, context, 'it enlarges along one axis and shrinks along another by nearest neighbours');
  }
  return {
    ...node,
    inputs: [input, '', scalesName],
    attributes: withAttributes(node, {
      // Upsample called it so before opset 9.
      mode: asText(nearest ? 'nearest' : 'linear'),
      coordinate_transformation_mode: asText('asymmetric'),
      nearest_mode: nearest ? asText(shrinks ? 'ceil' : 'floor') : null,
    }),
  };
}

/** Opset 13 made the unused inputs optional. It dropped a coordinate mode too, which onnxruntime still knows. */
export const resizeOptionalInputs: LiftStep = {
  below: 13,
  lift: (node, context) => {
    const inputs = node.inputs.map((name, i) => (i > 0 && context.constant(name)?.dims[0] === 0 ? '' : name));
    while (inputs.at(-1) === '') inputs.pop();
    return [{ ...node, inputs }];
  },
};

/**
 * Whether lengths are the sizes that the node gives, or an aspect ratio is kept and all resized lengths are what its one factor
 * gives, not rounded: then the factor follows from the lengths.
 */
function fillsItsSizes(node: Node, context: LiftContext): boolean {
  const { axes: listed, keepAspectRatioPolicy } = resizeAttributes(node);
  if (keepAspectRatioPolicy === 'stretch' || inputAt(node, 3) === undefined) return true;
  const [input, output] = [context.shape(node.inputs[0] ?? ''), context.shape(firstOutput(node))];
  const axes = listed ?? (input ?? []).map((_, axis) => axis);
  const factors = axes.map((axis) => (output?.at(axis) ?? Number.NaN) / (input?.at(axis) ?? 1));
  return factors.every((factor) => factor === factors[0]);
}

export const resizeWithoutAxes: LiftStep = {
  from: 18,
  lift: (node, context) => {
    if (!fillsItsSizes(node, context)) refuse(node, context, 'its aspect ratio gives no whole lengths');
    const {
      antialias,
      axes: listed,
      coordinateTransformationMode,
      keepAspectRatioPolicy,
    } = resizeAttributes(node);
    if (antialias) refuse(node, context, 'it is antialiased');
    if (coordinateTransformationMode === 'half_pixel_symmetric') {
      refuse(node, context, 'its coordinate mode is half_pixel_symmetric');
    }
    const plain = {
      ...node,
      attributes: withAttributes(node, { axes: null, antialias: null, keep_aspect_ratio_policy: null }),
    };
    if (listed === undefined && keepAspectRatioPolicy === 'stretch') return [plain];
    const shape =
      context.shape(node.inputs[0] ?? '') ?? refuse(node, context, 'the rank of its input is unknown');
    const axes = listed ?? shape.map((_, axis) => axis);
    if (inputAt(node, 1) !== undefined) refuse(node, context, 'it names axes and a region of interest');
    const along = (axis: number) => axes.findIndex((other) => positiveAxis(other, shape.length) === axis);
    const inputs = [...node.inputs];
    if (inputAt(node, 2) !== undefined) {
      const scales = float32View(requireConstant(node, 2, context, 'scales'));
      const all = shape.map((_, axis) => scales[along(axis)] ?? 1);
      inputs[2] = context.addConstant(float32Tensor([all.length], all), `${node.name}/scales`);
    } else {
      requireConstant(node, 3, context, 'sizes');
      const all = context.shape(firstOutput(node)) ?? refuse(node, context, 'its shape is unknown');
      inputs[3] = context.addConstant(int64Tensor(all), `${node.name}/sizes`);
    }
    return [{ ...plain, inputs }];
  },
};
