/**
 * Weights that a model keeps in files beside itself: which files those are, and where a tensor lies in one of them. Reads
 * nothing; how a file is found and read is the caller's.
 */
import { StarlingError } from '../protocol/errors.ts';
import { decodeModel } from './decodeModel.ts';
import type { TensorProto } from './proto.ts';

export interface ExternalRange {
  /** As the model spells it, relative to its own folder. */
  readonly path: string;
  readonly offset: number;
  readonly length: number;
}

/**
 * `bytes`: what the tensor's type and dimensions take, which is its length where the file gives none. Throws
 * MODEL_UNREADABLE for numbers that are none and for paths that lead out of the model's folder.
 */
export function externalRange(proto: TensorProto, bytes: number, where: string): ExternalRange {
  const entries = new Map(proto.externalData.map((entry) => [entry.key ?? '', entry.value ?? '']));
  const path = entries.get('location') ?? '';
  if (leadsOut(path)) {
    throw unreadable(where, outside(path));
  }
  const number = (key: 'offset' | 'length', fallback: number) => {
    const text = entries.get(key) ?? '';
    const value = text === '' ? fallback : /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value)) return value;
    throw unreadable(where, `gives "${text}" as the ${key} of its external data`);
  };
  return { path, offset: number('offset', 0), length: number('length', bytes) };
}

const outside = (path: string) => `names external data outside the model's folder ("${path}")`;

/** Absolute, on a drive, up a folder, or nowhere at all. */
function leadsOut(path: string): boolean {
  return path === '' || /^([/\\]|[a-z]:)/i.test(path) || path.split(/[/\\]/).includes('..');
}

/** The files that a model's tensors lie in, as it spells them; its nodes' and its functions' tensors too. Throws MODEL_UNREADABLE. */
export function dataFilesOf(bytes: Uint8Array): readonly string[] {
  const paths = new Set<string>();
  for (const tensor of messagesWith(decodeModel(bytes), 'externalData')) {
    for (const entry of tensor['externalData'] as TensorProto['externalData']) {
      if (entry.key !== 'location') continue;
      const path = entry.value ?? '';
      if (leadsOut(path)) throw unreadable('The model', outside(path));
      paths.add(path);
    }
  }
  return [...paths];
}

/** Every message below this one that has entries in such a list. */
function* messagesWith(value: unknown, field: string): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (Array.isArray(value)) {
    // Lists of numbers may be very long.
    if (typeof value[0] === 'object') for (const entry of value) yield* messagesWith(entry, field);
    return;
  }
  const message = value as Record<string, unknown>;
  const list = Object.hasOwn(message, field) ? message[field] : undefined;
  if (Array.isArray(list) && list.length > 0) yield message;
  for (const key of Object.keys(message)) yield* messagesWith(message[key], field);
}

function unreadable(where: string, problem: string): StarlingError {
  return new StarlingError(
    'MODEL_UNREADABLE',
    `${where} ${problem}; the file is damaged or was not written by an ONNX exporter.`,
  );
}
