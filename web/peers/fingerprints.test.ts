import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deriveRoomKey, type Signed, signFingerprints, verifyFingerprints } from './fingerprints.ts';

const print = (byte: string) => Array.from({ length: 32 }, () => byte).join(':');
const sdpOf = (...lines: string[]) =>
  [
    'v=0',
    'o=- 1 2 IN IP4 127.0.0.1',
    'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
    ...lines,
    'a=setup:actpass',
    '',
  ].join('\r\n');

const key = deriveRoomKey('a secret', 'attic');
const signed: Signed = {
  room: 'attic',
  from: 'a'.repeat(32),
  to: 'b'.repeat(32),
  role: 'offer',
  attempt: '1'.repeat(32),
  sdp: sdpOf(`a=fingerprint:sha-256 ${print('AB')}`),
};
const mac = signFingerprints(key, signed);
const untrusted = expect.objectContaining({ code: 'PEER_UNTRUSTED' });

describe('signed fingerprints', () => {
  it('are accepted as they were signed', () => {
    expect(() => verifyFingerprints(deriveRoomKey('a secret', 'attic'), signed, mac)).not.toThrow();
    expect(mac).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each<[string, Partial<Signed>]>([
    ['another fingerprint', { sdp: sdpOf(`a=fingerprint:sha-256 ${print('AC')}`) }],
    ['another hash function', { sdp: sdpOf(`a=fingerprint:sha-1 ${print('AB')}`) }],
    [
      'one fingerprint more',
      { sdp: sdpOf(`a=fingerprint:sha-256 ${print('00')}`, `a=fingerprint:sha-256 ${print('AB')}`) },
    ],
    ['no fingerprint', { sdp: sdpOf() }],
    ['swapped ends', { from: signed.to, to: signed.from }],
    ['a swapped role', { role: 'answer' }],
    ['another receiver', { to: 'c'.repeat(32) }],
    ['another attempt: a replay', { attempt: '2'.repeat(32) }],
    ['another room', { room: 'cellar' }],
  ])('are refused with %s', (_, change) => {
    expect(() => verifyFingerprints(key, { ...signed, ...change }, mac)).toThrow(untrusted);
  });

  it('are refused with another secret, without a signature, and with one that nobody here can check', () => {
    expect(() => verifyFingerprints(deriveRoomKey('A secret', 'attic'), signed, mac)).toThrow(untrusted);
    expect(() => verifyFingerprints(deriveRoomKey('a secret', 'cellar'), signed, mac)).toThrow(untrusted);
    expect(() => verifyFingerprints(key, signed, null)).toThrow(untrusted);
    expect(() => verifyFingerprints(key, signed, mac.slice(1))).toThrow(untrusted);
    expect(() => verifyFingerprints(null, signed, mac)).toThrow(untrusted);
    expect(() => verifyFingerprints(null, signed, null)).not.toThrow();
  });

  it.each([
    `a=fingerprint:sha-256 ${print('00')} `,
    `a=fingerprint: sha-256 ${print('00')}`,
    ` a=fingerprint:sha-256 ${print('00')}`,
    `A=FINGERPRINT:sha-256 ${print('00')}`,
    `a=fingerprint:sha-256\t${print('00')}`,
    'a=fingerprint:sha-256',
  ])('are refused with a second line like %j, which a browser might read', (line) => {
    const sdp = `${signed.sdp}${line}\r\n`;
    expect(() => verifyFingerprints(key, { ...signed, sdp }, mac)).toThrow(untrusted);
    expect(() => signFingerprints(key, { ...signed, sdp })).toThrow(untrusted);
  });

  it('do not mind the order, the case and the ends of lines, which mean nothing', () => {
    const lines = [`a=fingerprint:sha-256 ${print('AB')}`, `a=fingerprint:sha-512 ${print('CD')}`];
    const one = signFingerprints(key, { ...signed, sdp: sdpOf(...lines) });
    const sdp = sdpOf(...lines.toReversed())
      .replaceAll('\r\n', '\n')
      .replaceAll('AB', 'ab');
    expect(() => verifyFingerprints(key, { ...signed, sdp }, one)).not.toThrow();
  });

  it('leave no way to move text between two fields', () => {
    const parts = fc.record({ room: fc.string(), from: fc.string(), to: fc.string(), attempt: fc.string() });
    fc.assert(
      fc.property(parts, parts, (one, two) => {
        const same = JSON.stringify(one) === JSON.stringify(two);
        const [left, right] = [one, two].map((part) => signFingerprints(key, { ...signed, ...part }));
        expect(left === right).toBe(same);
      }),
    );
  });
});
