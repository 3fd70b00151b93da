/** The secret of a room: made on one page, and given to the others by any way but the signaling server. */
import { randomHex } from './randomHex.ts';

/**
 * 128 random bits as hexadecimal digits, for `joinRoom({ secret })`. The signaling server sees signatures and can try
 * secrets against them at leisure, so a word that people choose protects less than this.
 */
export function createRoomSecret(): string {
  return randomHex(16);
}
