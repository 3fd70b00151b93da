/**
 * Signatures over the DTLS fingerprints in offers and answers, with a key from the room's secret: a signaling
 * server that puts itself in between is detected. Needs no secure context; hides nothing (DTLS does).
 */
import { hkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { StarlingError } from '../../protocol/errors.ts';

/** All that a signature stands for. */
export interface Signed {
  readonly room: string;
  /** Member ids. */
  readonly from: string;
  readonly to: string;
  readonly role: 'offer' | 'answer';
  /** Of the connection; an answer repeats the offer's, so it fits no other offer. */
  readonly attempt: string;
  readonly sdp: string;
}

/** HKDF with SHA-256 (RFC 5869): 32 bytes that are the same on all devices with this secret and room. */
export function deriveRoomKey(secret: string, room: string): Uint8Array {
  const input = utf8ToBytes(secret.normalize('NFC'));
  return hkdf(sha256, input, utf8ToBytes('starling fingerprints 1'), utf8ToBytes(room), 32);
}

/**
 * @returns HMAC with SHA-256 as 64 hexadecimal digits
 * @throws StarlingError PEER_UNTRUSTED where the SDP has no fingerprint, or one in an unusual form
 */
export function signFingerprints(key: Uint8Array, signed: Signed): string {
  const { room, from, to, role, attempt, sdp } = signed;
  // A JSON list: no two different lists give the same text.
  const text = JSON.stringify([room, from, to, role, attempt, fingerprints(sdp)]);
  return bytesToHex(hmac(sha256, key, utf8ToBytes(text)));
}

/**
 * Accepts a description that came, or throws.
 * @param key null where this device has no secret; then only an unsigned description is accepted
 * @throws StarlingError PEER_UNTRUSTED
 */
export function verifyFingerprints(key: Uint8Array | null, signed: Signed, mac: string | null): void {
  if (key === null) {
    if (mac === null) return;
    throw untrusted(
      signed,
      'it uses a room secret and this one has none; open the link that carries the secret',
    );
  }
  if (mac === null) {
    throw untrusted(
      signed,
      'its connection is not signed; open the link with the room secret on that device',
    );
  }
  if (!equalInConstantTime(signFingerprints(key, signed), mac)) {
    throw untrusted(
      signed,
      'the signature of its connection is wrong: its room secret is another, or somebody in between has changed it',
    );
  }
}

/**
 * The fingerprints of an SDP, sorted, each once. A line that only resembles one is refused: what a browser would read
 * and this function would not must not pass.
 */
function fingerprints(sdp: string): string[] {
  const found = new Set<string>();
  for (const line of sdp.split(/\r\n|\r|\n/)) {
    if (!/fingerprint/i.test(line)) continue;
    const match = /^a=fingerprint:([\w-]{1,20}) ((?:[0-9A-Fa-f]{2}:)+[0-9A-Fa-f]{2})$/.exec(line);
    if (match === null) throw unreadable('a fingerprint of an unusual form');
    found.add(`${match[1]} ${match[2]}`.toLowerCase());
  }
  if (found.size === 0) throw unreadable('no fingerprint');
  return [...found].sort();
}

function unreadable(what: string): StarlingError {
  return new StarlingError(
    'PEER_UNTRUSTED',
    `A connection's description should hold its DTLS fingerprint, but this one holds ${what}.`,
  );
}

function untrusted({ from }: Signed, why: string): StarlingError {
  return new StarlingError('PEER_UNTRUSTED', `Device ${from.slice(0, 8)} is not trusted: ${why}.`);
}

function equalInConstantTime(left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++) {
    difference |= left.charCodeAt(index) ^ right.charCodeAt(index);
  }
  return difference === 0;
}
