/**
 * A TensorHandle around a tensor of onnxruntime's public API, wherever its elements lie. The bytes that cross
 * are copied, so that neither side sees the other's later writes.
 */
import type { DataType, Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { TensorHandle } from '../runtime/backend.ts';
import type { OrtApi, OrtTensor } from './ortModule.ts';
import type { SerialQueue } from './serialQueue.ts';
import { uploadableType } from './uploadableType.ts';

/** Typed arrays that the API takes for each type; it has none for bfloat16. */
const arrays = {
  float32: Float32Array,
  uint8: Uint8Array,
  int8: Int8Array,
  uint16: Uint16Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  bool: Uint8Array,
  float16: Uint16Array,
  float64: Float64Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
} as const;

export class ApiTensor implements TensorHandle {
  readonly dataType: DataType;
  readonly dims: readonly number[];
  /** What is fed to a session: reading must not move it from the GPU. */
  readonly #feed: OrtTensor;
  readonly #source: OrtTensor;
  readonly #queue: SerialQueue;
  #data: Promise<OrtTensor.DataType> | undefined;
  #released = false;

  constructor(source: OrtTensor, feed: OrtTensor, queue: SerialQueue) {
    this.#source = source;
    this.#feed = feed;
    this.#queue = queue;
    // 4-bit types have no name here and never leave a session, which apiBackend checks.
    this.dataType = source.type as DataType;
    this.dims = source.dims;
  }

  /** The tensor for a session; throws INTERNAL when released. */
  feed(): OrtTensor {
    this.#assertHeld();
    return this.#feed;
  }

  peek(): undefined {
    return undefined;
  }

  async read(): Promise<Tensor> {
    this.#assertHeld();
    const { dataType, dims } = this;
    this.#data ??= this.#source.getData();
    const data = await this.#data;
    if (!ArrayBuffer.isView(data)) {
      throw new StarlingError('SESSION_FAILED', `Expected a numeric tensor, got one of ${dataType}.`);
    }
    return { dataType, dims, data: new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice() };
  }

  release(): void {
    this.#assertHeld();
    this.#released = true;
    // A GPU build may be suspended inside a run, where its other exports must not be called.
    void this.#queue(() => this.#source.dispose());
  }

  #assertHeld(): void {
    if (this.#released) throw new StarlingError('INTERNAL', 'A tensor handle was used after its release.');
  }
}

/** Throws StarlingError INPUT_INVALID for strings, bfloat16 and a wrong byte count. */
export function uploadToApi(api: OrtApi, tensor: Tensor, queue: SerialQueue): ApiTensor {
  const dataType = uploadableType(tensor);
  if (dataType === 'bfloat16') {
    throw new StarlingError('INPUT_INVALID', 'This backend has no bfloat16; cast to float32 before.');
  }
  const copy = tensor.data.slice();
  const array = new arrays[dataType](copy.buffer, 0, copy.byteLength / arrays[dataType].BYTES_PER_ELEMENT);
  const source = new api.Tensor(dataType, array, [...tensor.dims]);
  return new ApiTensor(source, source, queue);
}

/** Takes over an output; what lies on the GPU is fed on from there. */
export function adoptApiOutput(api: OrtApi, source: OrtTensor, queue: SerialQueue): ApiTensor {
  if (source.location !== 'gpu-buffer') return new ApiTensor(source, source, queue);
  const feed = api.Tensor.fromGpuBuffer(source.gpuBuffer, {
    dataType: source.type as OrtTensor.GpuBufferDataTypes,
    dims: source.dims,
  });
  return new ApiTensor(source, feed, queue);
}
