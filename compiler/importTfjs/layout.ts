/** From TF's axis order (height, width, channels) to ONNX's (channels, height, width). Pure array work. */
import { float32Tensor, type Tensor } from '../../graph/tensor.ts';

/** The tensor with its axes in another order: axis i of the result is axis `order[i]` of the source. */
export function transposed(
  dims: readonly number[],
  values: Float32Array,
  order: readonly number[],
): { dims: number[]; values: Float32Array } {
  const strides = dims.map((_, axis) => dims.slice(axis + 1).reduce((a, b) => a * b, 1));
  const resultDims = order.map((axis) => dims[axis] ?? 1);
  const resultStrides = order.map((axis) => strides[axis] ?? 0);
  const result = new Float32Array(values.length);
  const index = resultDims.map(() => 0);
  let source = 0;
  for (let i = 0; i < result.length; i++) {
    result[i] = values[source] ?? 0;
    for (let axis = index.length - 1; axis >= 0; axis--) {
      const next = (index[axis] ?? 0) + 1;
      source += resultStrides[axis] ?? 0;
      if (next < (resultDims[axis] ?? 1)) {
        index[axis] = next;
        break;
      }
      source -= (resultStrides[axis] ?? 0) * next;
      index[axis] = 0;
    }
  }
  return { dims: resultDims, values: result };
}

/** Convolution kernel: height, width, in, out -> out, in, height, width. */
export function kernelToOnnx(dims: readonly number[], values: Float32Array): Tensor {
  const result = transposed(dims, values, [3, 2, 0, 1]);
  return float32Tensor(result.dims, result.values);
}

/**
 * Depthwise kernel: height, width, in, multiplier -> in x multiplier, 1, height, width. TF's output channel is
 * in * multiplier + m, which is the order of ONNX's groups too.
 */
export function depthwiseKernelToOnnx(dims: readonly number[], values: Float32Array): Tensor {
  const result = transposed(dims, values, [2, 3, 0, 1]);
  const [inputs = 0, multiplier = 0, height = 0, width = 0] = result.dims;
  return float32Tensor([inputs * multiplier, 1, height, width], result.values);
}

/** A per-feature parameter: height, width, channels -> channels, height, width. */
export function featureParameterToOnnx(dims: readonly number[], values: Float32Array): Tensor {
  const result = transposed(dims, values, [2, 0, 1]);
  return float32Tensor(result.dims, result.values);
}

/** ONNX's axis for an axis of a rank-4 TF value; undefined where there is none. */
export function axisToOnnx(axis: number): number | undefined {
  return [0, 2, 3, 1][axis < 0 ? axis + 4 : axis];
}
