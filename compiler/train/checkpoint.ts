/** A training state as bytes and back, in the safetensors format: arrays by name, and numbers as its metadata. */
import * as v from 'valibot';
import { StarlingError } from '../../protocol/errors.ts';
import { unlistedNames } from '../../protocol/plan.ts';

export interface Checkpoint {
  readonly numbers: ReadonlyMap<string, number>;
  readonly arrays: ReadonlyMap<string, Float32Array | Uint8Array>;
}

const entrySchema = v.strictObject({
  dtype: v.picklist(['F32', 'U8']),
  shape: v.array(v.number()),
  data_offsets: v.tuple([v.number(), v.number()]),
});
const headerSchema = v.objectWithRest({ __metadata__: v.record(v.string(), v.string()) }, entrySchema);

/** The header's length comes first, as 8 bytes. */
const prefixBytes = 8;

export function writeCheckpoint({ numbers, arrays }: Checkpoint): Uint8Array {
  const header: Record<string, unknown> = {
    __metadata__: Object.fromEntries([...numbers].map(([name, value]) => [name, String(value)])),
  };
  const lost = [...arrays.keys(), ...numbers.keys()].find((name) => unlistedNames.has(name));
  if (lost !== undefined) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `A checkpoint cannot hold an array called "${lost}"; rename that value in the model.`,
    );
  }
  let position = 0;
  // Floats first, so that they are aligned.
  const sorted = [...arrays].sort(([, a], [, b]) => b.BYTES_PER_ELEMENT - a.BYTES_PER_ELEMENT);
  for (const [name, array] of sorted) {
    header[name] = {
      dtype: array instanceof Float32Array ? 'F32' : 'U8',
      shape: [array.length],
      data_offsets: [position, position + array.byteLength],
    };
    position += array.byteLength;
  }
  const text = new TextEncoder().encode(JSON.stringify(header));
  const padded = Math.ceil(text.length / prefixBytes) * prefixBytes;
  const bytes = new Uint8Array(prefixBytes + padded + position).fill(0x20, prefixBytes, prefixBytes + padded);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(padded), true);
  bytes.set(text, prefixBytes);
  let at = prefixBytes + padded;
  for (const [, array] of sorted) {
    bytes.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), at);
    at += array.byteLength;
  }
  return bytes;
}

/** Throws StarlingError FILE_UNREADABLE. */
export function readCheckpoint(bytes: Uint8Array): Checkpoint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = bytes.byteLength < prefixBytes ? Number.NaN : Number(view.getBigUint64(0, true));
  const start = prefixBytes + length;
  if (!(start <= bytes.byteLength)) throw damaged('it is cut off');
  const header = parseHeader(new TextDecoder().decode(bytes.subarray(prefixBytes, start)));
  const { __metadata__: metadata, ...entries } = header;
  const arrays = new Map<string, Float32Array | Uint8Array>();
  for (const [name, { dtype, data_offsets: offsets }] of Object.entries(entries)) {
    const [from, to] = offsets;
    if (from < 0 || to < from || start + to > bytes.byteLength) throw damaged(`"${name}" lies outside of it`);
    const data = bytes.slice(start + from, start + to);
    arrays.set(name, dtype === 'F32' ? new Float32Array(data.buffer) : data);
  }
  return { arrays, numbers: new Map(Object.entries(metadata).map(([name, text]) => [name, Number(text)])) };
}

function parseHeader(text: string): v.InferOutput<typeof headerSchema> {
  try {
    return v.parse(headerSchema, JSON.parse(text));
  } catch (cause) {
    throw damaged('its header is not that of a checkpoint', cause);
  }
}

function damaged(problem: string, cause?: unknown): StarlingError {
  return new StarlingError('FILE_UNREADABLE', `The checkpoint cannot be read: ${problem}.`, { cause });
}
