/** NumPy's .npy files, read and written: one array of fixed-size numbers. Pure, for Node and the browser. */
import { StarlingError } from './errors.ts';

/** NumPy's type codes by onnxruntime's names. */
const typeCodes = {
  float32: '<f4',
  float64: '<f8',
  float16: '<f2',
  int8: '|i1',
  uint8: '|u1',
  int16: '<i2',
  uint16: '<u2',
  int32: '<i4',
  uint32: '<u4',
  int64: '<i8',
  uint64: '<u8',
  bool: '|b1',
} as const;

export interface NpyArray {
  readonly dataType: keyof typeof typeCodes;
  readonly dims: readonly number[];
  /** Little-endian, row-major. */
  readonly data: Uint8Array;
}

const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59] as const;
/** The data of a version 1.0 file starts at a multiple of this. */
const alignment = 64;

/** Versions 1 to 3, little-endian, row-major; anything else throws StarlingError INPUT_INVALID. `name` is for messages. */
export function readNpy(bytes: Uint8Array, name = 'The array'): NpyArray {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || magic.some((byte, i) => bytes[i] !== byte)) {
    throw invalid(name, 'is not an .npy file');
  }
  const version = view.getUint8(6);
  const headerStart = version === 1 ? 10 : 12;
  const dataStart = headerStart + (version === 1 ? view.getUint16(8, true) : view.getUint32(8, true));
  if (dataStart > bytes.length) throw invalid(name, 'ends inside its header');
  const header = new TextDecoder().decode(bytes.subarray(headerStart, dataStart));
  const code = /'descr':\s*'([^']+)'/.exec(header)?.[1];
  const order = /'fortran_order':\s*(True|False)/.exec(header)?.[1];
  const shape = /'shape':\s*\(([\d,\s]*)\)/.exec(header)?.[1];
  if (code === undefined || order === undefined || shape === undefined) {
    throw invalid(name, 'has a header that is not understood');
  }
  if (order === 'True') throw invalid(name, "is column-major; save it with numpy's ascontiguousarray");
  const dataType = typeOfCode(code);
  if (dataType === undefined) {
    throw invalid(name, `holds ${code}; expected one of ${Object.values(typeCodes).join(', ')}`);
  }
  const dims = shape
    .split(',')
    .filter((part) => part.trim() !== '')
    .map(Number);
  const expected = dims.reduce((product, dim) => product * dim, Number(code.slice(2)));
  const data = bytes.subarray(dataStart);
  if (data.length !== expected)
    throw invalid(name, `is expected to hold ${expected} bytes, got ${data.length}`);
  return { dataType, dims, data };
}

/** A file of version 1.0. */
export function writeNpy({ dataType, dims, data }: NpyArray): Uint8Array {
  const shape = dims.length === 1 ? `${dims[0]},` : dims.join(', ');
  const header = `{'descr': '${typeCodes[dataType]}', 'fortran_order': False, 'shape': (${shape}), }`;
  const headerBytes = Math.ceil((10 + header.length + 1) / alignment) * alignment - 10;
  const file = new Uint8Array(10 + headerBytes + data.length);
  file.set([...magic, 1, 0, headerBytes & 0xff, headerBytes >> 8]);
  file.set(new TextEncoder().encode(`${header.padEnd(headerBytes - 1)}\n`), 10);
  file.set(data, 10 + headerBytes);
  return file;
}

function typeOfCode(code: string): NpyArray['dataType'] | undefined {
  for (const [dataType, known] of Object.entries(typeCodes)) {
    if (known === code) return dataType as NpyArray['dataType'];
  }
  return undefined;
}

function invalid(name: string, problem: string): StarlingError {
  return new StarlingError('INPUT_INVALID', `${name} ${problem}.`);
}
