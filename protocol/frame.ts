/**
 * Frames of the tensor channel: how a message between two devices looks in bytes. One tensor frame carries one
 * transfer (one value from one device to another); a large one travels in parts. Nothing here waits or remembers.
 *
 * Little-endian, 28 bytes and the dimensions, padded with zeros to a multiple of 8 so that the payload is aligned:
 *
 *    0 u16 magic      2 u8 version   3 u8 kind
 *    4 u32 epoch      8 u32 run     12 u32 transfer (ping, pong: sequence; abort: reason)
 *   16 u32 part      20 u32 parts
 *   24 u8 data type  25 u8 rank     26 u16 zero     28 u32 dims[rank]
 *
 * Lengths are not in the header: they follow from type, dims, part and parts, so they cannot contradict them.
 * Every part but the last carries ceil(bytes / parts) bytes, rounded up to a multiple of 8.
 */
import { StarlingError } from './errors.ts';
import { limits } from './limits.ts';
import { tensorBytes, type WireType, wireCode, wireTypeOf } from './wireType.ts';

/** Rises with every change of the bytes below. */
export const frameVersion = 1;

const magic = 0x4c53;
const fixedBytes = 28;

/** The order is the wire's; new kinds go to the end. */
const kinds = [
  'hello',
  'helloAck',
  'ping',
  'pong',
  'abort',
  'tensor',
  'input',
  'output',
  'record',
  'recorded',
  'fileAsk',
  'file',
] as const;
type Kind = (typeof kinds)[number];

/** Those that carry a payload. */
const tensorKinds = ['tensor', 'input', 'output', 'recorded', 'fileAsk', 'file'] as const;
export type TensorKind = (typeof tensorKinds)[number];

const isTensorKind = (kind: Kind): kind is TensorKind => tensorKinds.some((known) => known === kind);

/** Why a run ends early; the order is the wire's. */
export const abortReasons = [
  'RUN_ABORTED',
  'RUN_FAILED',
  'RUN_TIMEOUT',
  'SESSION_FAILED',
  'PEER_LOST',
] as const;
export type AbortReason = (typeof abortReasons)[number];

export interface TensorHeader {
  /**
   * A value between devices, an input from the host, an output to the host, what a device noted of a run, also to
   * the host (see timelineRecorder.ts), a question for a piece of a plan's file, or that piece (see fileTransfer.ts).
   */
  readonly kind: TensorKind;
  readonly epoch: number;
  readonly run: number;
  /** Both ends number transfers alike when they lower; for an input or output, its index in the graph; else 0. */
  readonly transfer: number;
  readonly dataType: WireType;
  readonly dims: readonly number[];
}

export interface TensorFrame extends TensorHeader {
  /** Little-endian, row-major, exactly as many bytes as type and dims say. */
  readonly data: Uint8Array;
}

export interface TensorPart extends TensorHeader {
  readonly part: number;
  readonly parts: number;
  /** Bytes of the whole tensor, and where this part's lie in it. */
  readonly totalBytes: number;
  readonly offset: number;
  /** A view of the message, aligned to 8 bytes where the message is. */
  readonly payload: Uint8Array;
}

export interface AbortFrame {
  readonly kind: 'abort';
  readonly epoch: number;
  readonly run: number;
  readonly reason: AbortReason;
}

/** Asks a device to note what it does for a run. */
export interface RecordFrame {
  readonly kind: 'record';
  readonly epoch: number;
  readonly run: number;
}

/** What a link carries for those who use it; the other frames are its own. */
export type RunFrame = TensorFrame | AbortFrame | RecordFrame;

export type ControlFrame =
  | { readonly kind: 'hello' | 'helloAck' }
  | { readonly kind: 'ping' | 'pong'; readonly sequence: number }
  | AbortFrame
  | RecordFrame;

export type Frame = ControlFrame | TensorFrame;

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

/** Bytes before the payload. */
export function headerBytes(rank: number): number {
  return align8(fixedBytes + 4 * rank);
}

/**
 * The messages of a frame, each at most `chunkBytes` long, in the order to send. The payload is copied (once), so
 * `data` may be a view of memory that changes afterwards. Each message has a buffer of its own, which the channel
 * may transfer. Throws MESSAGE_INVALID or MESSAGE_TOO_LARGE where the frame does not obey its own types.
 */
export function encodeFrame(
  frame: Frame,
  chunkBytes: number = limits.frameChunkBytes,
): Uint8Array<ArrayBuffer>[] {
  if (!('dims' in frame)) return [encodeControl(frame)];
  const { data, dims, dataType } = frame;
  const total = tensorBytes(dataType, dims);
  if (data.byteLength !== total)
    throw new StarlingError(
      'MESSAGE_INVALID',
      `Transfer ${frame.transfer} needs ${total} bytes for ${dataType}[${dims}], got ${data.byteLength}.`,
    );
  if (total > limits.tensorBytes || dims.length > limits.tensorRank)
    throw new StarlingError(
      'MESSAGE_TOO_LARGE',
      `Transfer ${frame.transfer} is ${dataType}[${dims}]; a frame takes ${limits.tensorBytes} bytes and ${limits.tensorRank} dimensions.`,
    );
  const head = headerBytes(dims.length);
  const room = (chunkBytes - head) & ~7;
  if (room < 8)
    throw new StarlingError('MESSAGE_INVALID', `A message of ${chunkBytes} bytes has no room for data.`);
  const parts = Math.max(1, Math.ceil(total / room));
  const stride = strideOf(total, parts);
  const messages: Uint8Array<ArrayBuffer>[] = [];
  for (let part = 0; part < parts; part++) {
    const offset = part * stride;
    const length = Math.min(stride, total - offset);
    const message = new Uint8Array(head + length);
    const view = writeFixed(message, frame.kind, frame.epoch, frame.run, frame.transfer);
    view.setUint32(16, part, true);
    view.setUint32(20, parts, true);
    view.setUint8(24, wireCode(dataType));
    view.setUint8(25, dims.length);
    dims.forEach((dim, axis) => {
      view.setUint32(fixedBytes + 4 * axis, dim, true);
    });
    message.set(length === total ? data : data.subarray(offset, offset + length), head);
    messages.push(message);
  }
  return messages;
}

/** Never throws: bytes from a peer are either a frame (or a part of one) or dropped with a reason. */
export function decodeFrame(bytes: Uint8Array): Decoded {
  if (bytes.byteLength < headerBytes(0)) return drop('short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint16(0, true) !== magic) return drop('magic');
  if (view.getUint8(2) !== frameVersion) return drop('version');
  const kind = kinds[view.getUint8(3)];
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
  const dims = Array.from({ length: rank }, (_, axis) => view.getUint32(fixedBytes + 4 * axis, true));
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

function strideOf(totalBytes: number, parts: number): number {
  return align8(Math.ceil(totalBytes / parts));
}

function align8(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

function drop(reason: Malformed): Decoded {
  return { ok: false, reason };
}

function writeFixed(
  message: Uint8Array<ArrayBuffer>,
  kind: Kind,
  epoch: number,
  run: number,
  third: number,
): DataView {
  for (const [name, value] of Object.entries({ epoch, run, transfer: third }))
    if (value >>> 0 !== value)
      throw new StarlingError(
        'MESSAGE_INVALID',
        `${name} of a frame is a whole number below 2^32, got ${value}.`,
      );
  const view = new DataView(message.buffer);
  view.setUint16(0, magic, true);
  view.setUint8(2, frameVersion);
  view.setUint8(3, kinds.indexOf(kind));
  view.setUint32(4, epoch, true);
  view.setUint32(8, run, true);
  view.setUint32(12, third, true);
  return view;
}

function encodeControl(frame: ControlFrame): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(headerBytes(0));
  switch (frame.kind) {
    case 'hello':
    case 'helloAck':
      writeFixed(message, frame.kind, 0, 0, 0);
      break;
    case 'abort':
      writeFixed(message, 'abort', frame.epoch, frame.run, abortReasons.indexOf(frame.reason));
      break;
    case 'record':
      writeFixed(message, 'record', frame.epoch, frame.run, 0);
      break;
    default:
      writeFixed(message, frame.kind, 0, 0, frame.sequence);
  }
  return message;
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
