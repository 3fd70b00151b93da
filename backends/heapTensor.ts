/**
 * A TensorHandle whose value is an OrtValue in the wasm heap: made from bytes, or taken over from a session's
 * output. Knows nothing of sessions.
 */
import { dataTypeCodes, dataTypeOfCode, describeCode } from '../graph/dataTypeCodes.ts';
import { byteCount, type Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { TensorHandle } from '../runtime/backend.ts';
import {
  copyIn,
  heapBytes,
  lastError,
  pointerBytes,
  readPointers,
  withCells,
  writePointers,
} from './heapMemory.ts';
import type { OrtModule } from './ortModule.ts';
import { type NumericDataType, uploadableType } from './uploadableType.ts';

/** onnxruntime's number for "the bytes are in CPU memory", which in a browser is the heap. */
const cpuLocation = 1;

interface HeapValue {
  readonly dataType: NumericDataType;
  readonly dims: readonly number[];
  /** Address of the OrtValue. */
  readonly value: number;
  /** Address of the elements. */
  readonly data: number;
  /** Whether the elements are ours to free (an upload) or the OrtValue's (an output). */
  readonly ownsData: boolean;
}

export class HeapTensor implements TensorHandle {
  readonly dataType: NumericDataType;
  readonly dims: readonly number[];
  readonly #module: OrtModule;
  readonly #held: HeapValue;
  #released = false;

  constructor(module: OrtModule, held: HeapValue) {
    this.#module = module;
    this.#held = held;
    this.dataType = held.dataType;
    this.dims = held.dims;
  }

  /** Address of the OrtValue; throws INTERNAL when released or of another module. */
  valueIn(module: OrtModule): number {
    if (module !== this.#module) {
      throw new StarlingError('INTERNAL', 'A tensor handle was given to a backend that did not make it.');
    }
    this.#assertHeld();
    return this.#held.value;
  }

  peek(): Tensor {
    this.#assertHeld();
    const { dataType, dims } = this;
    return { dataType, dims, data: heapBytes(this.#module, this.#held.data, byteCount(dataType, dims)) };
  }

  read(): Tensor {
    const tensor = this.peek();
    // slice() of a view of shared memory copies into memory of its own, which may be transferred.
    return { ...tensor, data: tensor.data.slice() };
  }

  release(): void {
    this.#assertHeld();
    this.#released = true;
    this.#module._OrtReleaseTensor(this.#held.value);
    if (this.#held.ownsData) this.#module._free(this.#held.data);
  }

  #assertHeld(): void {
    if (this.#released) throw new StarlingError('INTERNAL', 'A tensor handle was used after its release.');
  }
}

/** Copies a tensor into the heap. Throws StarlingError INPUT_INVALID for strings and for a wrong byte count. */
export function uploadToHeap(module: OrtModule, tensor: Tensor): HeapTensor {
  const { dims } = tensor;
  const dataType = uploadableType(tensor);
  const data = copyIn(module, tensor.data);
  const value = withCells(module, Math.max(dims.length, 1), (cells) => {
    writePointers(module, cells, dims);
    return module._OrtCreateTensor(
      dataTypeCodes[dataType],
      data,
      tensor.data.byteLength,
      cells,
      dims.length,
      cpuLocation,
    );
  });
  if (value === 0) {
    const reason = lastError(module);
    module._free(data);
    throw new StarlingError(
      'INPUT_INVALID',
      `onnxruntime refused a ${dataType} tensor of [${dims}]: ${reason}`,
    );
  }
  return new HeapTensor(module, { dataType, dims, value, data, ownsData: true });
}

/** Takes over an OrtValue that a run returned; on failure the value is released. */
export function adoptOutput(module: OrtModule, name: string, value: number): HeapTensor {
  try {
    const { dataType, dims, data } = inspect(module, name, value);
    return new HeapTensor(module, { dataType, dims, value, data, ownsData: false });
  } catch (thrown) {
    module._OrtReleaseTensor(value);
    throw thrown;
  }
}

function inspect(module: OrtModule, name: string, value: number) {
  return withCells(module, 4, (cells) => {
    const [typeCell, dataCell, dimsCell, rankCell] = [0, 1, 2, 3].map((i) => cells + i * pointerBytes) as [
      number,
      number,
      number,
      number,
    ];
    if (module._OrtGetTensorData(value, typeCell, dataCell, dimsCell, rankCell) !== 0) {
      throw new StarlingError('SESSION_FAILED', `Output "${name}" cannot be read: ${lastError(module)}`);
    }
    const dimsPointer = module.getValue(dimsCell, '*');
    const dims = readPointers(module, dimsPointer, module.getValue(rankCell, 'i32'));
    module._OrtFree(dimsPointer);
    const data = module.getValue(dataCell, '*');
    const code = module.getValue(typeCell, 'i32');
    const dataType = dataTypeOfCode(code);
    if (dataType === 'string') module._free(data);
    if (dataType === undefined || dataType === 'string') {
      throw new StarlingError(
        'SESSION_FAILED',
        `Output "${name}" has ${describeCode(code)} elements, and only numeric tensors can be exchanged.`,
      );
    }
    return { dataType, dims, data };
  });
}
