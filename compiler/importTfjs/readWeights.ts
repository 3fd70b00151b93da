/**
 * The weights of a TF.js model as float32 arrays by name: the manifest's entries lie one after the other in the
 * joined weight files. Quantised entries are expanded as TF.js does. Reads no file.
 */
import { elementCount } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { parseModelJson, type WeightGroup, type WeightSpec } from './modelJson.ts';

export interface Weight {
  /** In TF's axis order. */
  readonly dims: readonly number[];
  readonly values: Float32Array;
}

/** Paths of the weight files, relative to model.json, in the order in which they are to be joined. */
export function tfjsWeightPaths(modelJson: unknown): string[] {
  return parseModelJson(modelJson).weightGroups.flatMap((group) => group.paths);
}

/** Throws StarlingError MODEL_UNREADABLE where lengths do not fit, MODEL_UNSUPPORTED for a type that is not float32. */
export function readWeights(groups: readonly WeightGroup[], bytes: Uint8Array): ReadonlyMap<string, Weight> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const weights = new Map<string, Weight>();
  let offset = 0;
  for (const spec of groups.flatMap((group) => group.weights)) {
    const count = elementCount(spec.shape);
    const { bytesPerElement, read } = decoder(spec);
    const end = offset + count * bytesPerElement;
    if (end > bytes.byteLength) {
      throw new StarlingError(
        'MODEL_UNREADABLE',
        `The weight files end inside ${spec.name}: expected at least ${end} bytes, got ${bytes.byteLength}; fetch them again.`,
      );
    }
    const values = new Float32Array(count);
    for (let i = 0; i < count; i++) values[i] = read(view, offset + i * bytesPerElement);
    weights.set(spec.name, { dims: spec.shape, values });
    offset = end;
  }
  if (offset !== bytes.byteLength) {
    throw new StarlingError(
      'MODEL_UNREADABLE',
      `The manifest describes ${offset} bytes of weights, the weight files hold ${bytes.byteLength}.`,
    );
  }
  return weights;
}

interface Decoder {
  readonly bytesPerElement: number;
  readonly read: (view: DataView, offset: number) => number;
}

function decoder(spec: WeightSpec): Decoder {
  if (spec.dtype !== 'float32') {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `Weight ${spec.name} is ${spec.dtype}; only float32 is imported.`,
    );
  }
  const { quantization } = spec;
  if (quantization === undefined) {
    return { bytesPerElement: 4, read: (view, offset) => view.getFloat32(offset, true) };
  }
  if (quantization.dtype === 'float16') {
    return { bytesPerElement: 2, read: (view, offset) => float16(view.getUint16(offset, true)) };
  }
  const { scale, min } = quantization;
  return quantization.dtype === 'uint8'
    ? { bytesPerElement: 1, read: (view, offset) => view.getUint8(offset) * scale + min }
    : { bytesPerElement: 2, read: (view, offset) => view.getUint16(offset, true) * scale + min };
}

/** IEEE 754 binary16 to a number; `DataView.getFloat16` is not there yet in Node 20. */
function float16(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
