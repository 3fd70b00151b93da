/** The ordinary ONNX operators that turn float32 features into what travels, and back. They choose nothing. */

import { dataTypeCodes } from '../../graph/dataTypeCodes.ts';
import type { Attribute } from '../../graph/graph.ts';
import { type DataType, float32Tensor, type Tensor } from '../../graph/tensor.ts';
import type { ValueRange } from './valueRanges.ts';

/** One operator whose first input is the value before it. */
export interface WireNode {
  readonly opType: string;
  readonly operands: readonly Tensor[];
  readonly attributes: Readonly<Record<string, Attribute>>;
  readonly dataType: DataType;
}

export interface WireNodes {
  /** The last one makes what travels. */
  readonly send: readonly WireNode[];
  readonly arrive: readonly WireNode[];
}

const largestFloat16 = 65504;

const cast = (dataType: DataType): WireNode => ({
  opType: 'Cast',
  operands: [],
  attributes: { to: { type: 'int', value: dataTypeCodes[dataType] } },
  dataType,
});

/** Larger numbers become the largest and no infinity, which would spread. */
export function float16Nodes(): WireNodes {
  const limits = [-largestFloat16, largestFloat16].map((limit) => float32Tensor([], [limit]));
  const clip: WireNode = { opType: 'Clip', operands: limits, attributes: {}, dataType: 'float32' };
  return { send: [clip, cast('float16')], arrive: [cast('float32')] };
}

/**
 * Affine: q = round(x / scale) + zero point, saturating at 0 and 255 (ONNX QuantizeLinear). `axis`: of the features,
 * where each has a range of its own.
 */
export function uint8Nodes({ low, high }: ValueRange, axis: number | undefined): WireNodes {
  const scales = Float32Array.from(high, (most, i) => {
    const width = most - (low[i] ?? 0);
    // A feature that never was anything but zero: any scale is as good.
    return width > 0 ? width / 255 : 1;
  });
  const zeroPoints = Uint8Array.from(scales, (scale, i) => Math.round(-(low[i] ?? 0) / scale));
  const dims = axis === undefined ? [] : [scales.length];
  const operands: Tensor[] = [float32Tensor(dims, scales), { dataType: 'uint8', dims, data: zeroPoints }];
  const attributes: Record<string, Attribute> =
    axis === undefined ? {} : { axis: { type: 'int', value: axis } };
  return {
    send: [{ opType: 'QuantizeLinear', operands, attributes, dataType: 'uint8' }],
    arrive: [{ opType: 'DequantizeLinear', operands, attributes, dataType: 'float32' }],
  };
}
