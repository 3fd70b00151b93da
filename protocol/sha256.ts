/** SHA-256 in hexadecimal, in plain JavaScript: `crypto.subtle` is missing on pages served over plain http. */
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex } from '@noble/hashes/utils.js';

export function sha256Hex(bytes: Uint8Array): string {
  return bytesToHex(sha256(bytes));
}
