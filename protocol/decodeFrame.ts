/** A message of a data channel becomes a frame, or a part of one. Nothing here waits or remembers. */
import {
  abortReasons,
  type ControlFrame,
  type FrameKind,
  frameKinds,
  type TensorKind,
  type TensorPart,
  tensorKinds,
} from './frame.ts';
import { fixedBytes, frameMagic, frameVersion, headerBytes, strideOf } from './frameLayout.ts';
import { limits } from './limits.ts';
import { tensorBytes, wireTypeOf } from './wireType.ts';

/** What is wrong with the bytes of a message. */
export type Malformed =
  | 'short'
  | 'magic'
  | 'version'
  | 'kind'
  | 'dataType'
  | 'rank'
  | 'padding'
  | 'size'
  | 'part'
  | 'length';

export type Decoded =
  | { readonly ok: true; readonly frame: ControlFrame | TensorPart }
  | { readonly ok: false; readonly reason: Malformed };

const kindsWithPayload: ReadonlySet<FrameKind> = new Set(tensorKinds);

function isTensorKind(kind: FrameKind): kind is TensorKind {
  return kindsWithPayload.has(kind);
}

/** Never throws: bytes from a peer are either a frame (or a part of one) or dropped with a reason. */
export function decodeFrame(bytes: Uint8Array): Decoded {
  if (bytes.byteLength < headerBytes(0)) return drop('short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint16(0, true) !== frameMagic) return drop('magic');
  if (view.getUint8(2) !== frameVersion) return drop('version');
  const kind = frameKinds[view.getUint8(3)];
  if (kind === undefined) return drop('kind');
  const epoch = view.getUint32(4, true);
  const run = view.getUint32(8, true);
  const transfer = view.getUint32(12, true);
  if (!isTensorKind(kind)) {
    if (bytes.byteLength !== headerBytes(0)) return drop('length');
    const frame = control(kind, epoch, run, transfer);
    return frame === undefined ? drop('kind') : { ok: true, frame };
  }

  const dataType = wireTypeOf(view.getUint8(24));
  if (dataType === undefined) return drop('dataType');
  const rank = view.getUint8(25);
  if (rank > limits.tensorRank) return drop('rank');
  const head = headerBytes(rank);
  if (bytes.byteLength < head) return drop('short');
  const dims: number[] = [];
  for (let axis = 0; axis < rank; axis++) dims.push(view.getUint32(fixedBytes + 4 * axis, true));
  if (view.getUint16(26, true) !== 0) return drop('padding');
  for (let at = fixedBytes + 4 * rank; at < head; at++) if (view.getUint8(at) !== 0) return drop('padding');
  const totalBytes = tensorBytes(dataType, dims);
  if (totalBytes > limits.tensorBytes) return drop('size');
  const part = view.getUint32(16, true);
  const parts = view.getUint32(20, true);
  if (part >= parts) return drop('part');
  const stride = strideOf(totalBytes, parts);
  // A sender leaves no part empty; one of no bytes at all is whole in part 0.
  if (parts !== Math.max(1, Math.ceil(totalBytes / Math.max(1, stride)))) return drop('part');
  const offset = part * stride;
  if (bytes.byteLength - head !== Math.min(stride, totalBytes - offset)) return drop('length');
  const payload = bytes.subarray(head);
  return {
    ok: true,
    frame: { kind, epoch, run, transfer, dataType, dims, part, parts, totalBytes, offset, payload },
  };
}

function control(
  kind: ControlFrame['kind'],
  epoch: number,
  run: number,
  third: number,
): ControlFrame | undefined {
  if (kind === 'abort') {
    const reason = abortReasons[third];
    return reason === undefined ? undefined : { kind, epoch, run, reason };
  }
  if (kind === 'record') return { kind, epoch, run };
  return kind === 'ping' || kind === 'pong' ? { kind, sequence: third } : { kind };
}

function drop(reason: Malformed): Decoded {
  return { ok: false, reason };
}
