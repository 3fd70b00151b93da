/** Small random inputs for a profiling run: the same in every run, and harmless as indices, masks and lengths. */
import type { ValueInfo } from '../../graph/graph.ts';
import { byteCount, type DataType, elementCount, type Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';

/** Shapes must be concrete. Throws MODEL_UNSUPPORTED for inputs of strings. */
export function profileFeeds(inputs: readonly ValueInfo[], seed = 1): ReadonlyMap<string, Tensor> {
  const random = xorshift(seed);
  return new Map(inputs.map((input) => [input.name, feed(input, random)]));
}

function feed({ name, dataType, shape = [] }: ValueInfo, random: () => number): Tensor {
  const dims = shape.map((dim) => (typeof dim === 'number' ? dim : 1));
  if (dataType === 'string') {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `Input "${name}" takes strings, which Starling cannot send.`,
    );
  }
  const data = new Uint8Array(byteCount(dataType, dims));
  const view = new DataView(data.buffer);
  const write = writers[dataType];
  for (let i = 0; i < elementCount(dims); i++) write(view, i, random);
  return { dataType, dims, data };
}

/** 16-bit floats among a few exact values between -0.5 and 0.5; integers are 1, which most models take as an index. */
const writers: {
  readonly [T in Exclude<DataType, 'string'>]: (view: DataView, i: number, random: () => number) => void;
} = {
  float32: (view, i, random) => view.setFloat32(4 * i, random() - 0.5, true),
  float64: (view, i, random) => view.setFloat64(8 * i, random() - 0.5, true),
  float16: (view, i, random) =>
    view.setUint16(2 * i, [0x3400, 0xb400, 0x3800, 0][Math.floor(4 * random())] ?? 0, true),
  bfloat16: (view, i, random) =>
    view.setUint16(2 * i, [0x3e80, 0xbe80, 0x3f00, 0][Math.floor(4 * random())] ?? 0, true),
  uint8: (view, i) => view.setUint8(i, 1),
  int8: (view, i) => view.setInt8(i, 1),
  bool: (view, i) => view.setUint8(i, 1),
  uint16: (view, i) => view.setUint16(2 * i, 1, true),
  int16: (view, i) => view.setInt16(2 * i, 1, true),
  uint32: (view, i) => view.setUint32(4 * i, 1, true),
  int32: (view, i) => view.setInt32(4 * i, 1, true),
  int64: (view, i) => view.setBigInt64(8 * i, 1n, true),
  uint64: (view, i) => view.setBigUint64(8 * i, 1n, true),
};

/** Uniform in [0, 1). */
function xorshift(seed: number): () => number {
  let state = (seed * 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}
