/** Chance as text; works without a secure context. */

/** `numBytes` bytes of the platform's random source as 2 x `numBytes` hexadecimal digits. */
export function randomHex(numBytes: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(numBytes));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
