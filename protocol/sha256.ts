/** SHA-256 in hexadecimal, in plain JavaScript: `crypto.subtle` is missing on pages served over plain http. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

/** Of all pieces together, as if they were one. */
export function sha256Hex(...pieces: readonly Uint8Array[]): string {
  const hash = sha256.create();
  for (const piece of pieces) hash.update(piece);
  return bytesToHex(hash.digest());
}
