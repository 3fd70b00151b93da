/** Bytes as the ModelProto they are, or one sentence about what they are instead. What the model holds is load.ts's. */
import { StarlingError } from '../protocol/errors.ts';
import { describeForeignBytes } from './foreignBytes.ts';
import { type ModelProto, onnx } from './proto.ts';

/** Throws MODEL_UNREADABLE. */
export function decodeModel(bytes: Uint8Array): ModelProto {
  const foreign = describeForeignBytes(bytes);
  if (foreign !== undefined) throw unreadableModel(foreign);
  let proto: ModelProto;
  try {
    // A Node Buffer would leak into every tensor, and its slice() does not copy as a Uint8Array's does.
    proto = onnx.ModelProto.decode(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  } catch (cause) {
    throw unreadableModel('it is damaged, cut off, or something else', cause);
  }
  if (!Object.hasOwn(proto, 'graph') || proto.graph == null) throw unreadableModel('it holds no graph');
  if (proto.opsetImport.length === 0) throw unreadableModel('it names no operator set, so it may be cut off');
  return proto;
}

export function unreadableModel(problem: string, cause?: unknown): StarlingError {
  return new StarlingError('MODEL_UNREADABLE', `The file is not a readable ONNX model: ${problem}.`, {
    cause,
  });
}
