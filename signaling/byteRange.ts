/** The Range header of a request for a file (RFC 9110, section 14), for one range; more than one is not served. */

export interface ByteRange {
  /** First byte. */
  readonly start: number;
  /** Last byte, included. */
  readonly end: number;
}

/**
 * @param header as it came
 * @param size of the file in bytes
 * @returns null where the whole file is to be sent (no range, or one that this server does not read)
 */
export function parseByteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '');
  if (match === null) return null;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}
