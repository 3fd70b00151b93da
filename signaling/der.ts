/** The few DER encodings (ITU-T X.690) that a certificate is made of; it only writes, and only what selfSigned.ts needs. */

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  sequence: 0x30,
  set: 0x31,
} as const;

/** Tag, length, content. */
export function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const digits = length < 0x100 ? [length] : [length >> 8, length & 0xff];
  if (length > 0xffff)
    throw new RangeError(`DER content of ${length} bytes is longer than this writer writes.`);
  return Buffer.concat([Buffer.from([tag, 0x80 | digits.length, ...digits]), content]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => tagged(tags.sequence, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => tagged(tags.set, ...parts);
export const octets = (content: Uint8Array): Buffer => tagged(tags.octetString, content);
export const utf8 = (text: string): Buffer => tagged(tags.utf8String, Buffer.from(text, 'utf8'));
export const yes = (): Buffer => tagged(tags.boolean, Buffer.from([0xff]));

/** @param bytes big-endian, not negative; the first is not zero unless it is the only one */
export function integer(bytes: Uint8Array): Buffer {
  const padded = (bytes[0] ?? 0) >= 0x80 ? [Buffer.from([0]), bytes] : [bytes];
  return tagged(tags.integer, ...padded);
}

/** @param unusedBits at the end of the last byte */
export function bits(content: Uint8Array, unusedBits = 0): Buffer {
  return tagged(tags.bitString, Buffer.from([unusedBits]), content);
}

/** @param dotted as in `2.5.29.17` */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return tagged(tags.objectId, Buffer.from(bytes));
}

/** To the second; years 1950 to 2049. */
export function time(date: Date): Buffer {
  const text = `${date.toISOString().replace(/\D/g, '').slice(2, 14)}Z`;
  return tagged(tags.utcTime, Buffer.from(text, 'ascii'));
}
