/** A frame becomes the messages of a data channel. Nothing here waits or remembers. */
import { StarlingError } from './errors.ts';
import { abortReasons, type ControlFrame, type Frame, type FrameKind, frameKinds } from './frame.ts';
import { fixedBytes, frameMagic, frameVersion, headerBytes, strideOf } from './frameLayout.ts';
import { limits } from './limits.ts';
import { tensorBytes, wireCode } from './wireType.ts';

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
    let at = fixedBytes;
    for (const dim of dims) {
      view.setUint32(at, dim, true);
      at += 4;
    }
    message.set(length === total ? data : data.subarray(offset, offset + length), head);
    messages.push(message);
  }
  return messages;
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

function checkNumber(name: string, value: number): void {
  if (value >>> 0 !== value)
    throw new StarlingError(
      'MESSAGE_INVALID',
      `${name} of a frame is a whole number below 2^32, got ${value}.`,
    );
}

function writeFixed(
  message: Uint8Array<ArrayBuffer>,
  kind: FrameKind,
  epoch: number,
  run: number,
  third: number,
): DataView {
  checkNumber('epoch', epoch);
  checkNumber('run', run);
  checkNumber('transfer', third);
  const view = new DataView(message.buffer);
  view.setUint16(0, frameMagic, true);
  view.setUint8(2, frameVersion);
  view.setUint8(3, frameKinds.indexOf(kind));
  view.setUint32(4, epoch, true);
  view.setUint32(8, run, true);
  view.setUint32(12, third, true);
  return view;
}
