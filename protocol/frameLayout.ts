/**
 * How a frame looks in bytes: little-endian, 28 bytes and the dimensions, padded with zeros to a multiple of 8 so that the
 * payload is aligned.
 *
 *    0 u16 magic      2 u8 version   3 u8 kind
 *    4 u32 epoch      8 u32 run     12 u32 transfer (ping, pong: sequence; abort: reason)
 *   16 u32 part      20 u32 parts
 *   24 u8 data type  25 u8 rank     26 u16 zero     28 u32 dims[rank]
 *
 * Lengths are not in the header: they follow from type, dims, part and parts, so they cannot contradict them.
 * Every part but the last carries ceil(bytes / parts) bytes, rounded up to a multiple of 8.
 */

/** Rises with every change of the bytes above. */
export const frameVersion = 1;

export const frameMagic = 0x4c53;

/** Before the dimensions. */
export const fixedBytes = 28;

/** Bytes before the payload. */
export function headerBytes(rank: number): number {
  return align8(fixedBytes + 4 * rank);
}

/** Bytes of every part but the last. */
export function strideOf(totalBytes: number, parts: number): number {
  return align8(Math.ceil(totalBytes / parts));
}

function align8(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}
