/**
 * A certificate for this machine that it signs itself (X.509, RFC 5280), made anew at each start and kept nowhere:
 * browsers warn once, and then the page is a secure context. Not a certificate authority.
 */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { localAddresses } from './addresses.ts';
import { bits, integer, objectId, octets, sequence, set, tagged, time, utf8, yes } from './der.ts';

export interface SelfSigned {
  /** PEM. */
  readonly key: string;
  readonly cert: string;
  /** SHA-256 as browsers show it, so that people can compare. */
  readonly fingerprint: string;
}

const dayMs = 24 * 60 * 60 * 1000;
/** Apple's systems take no server certificate that is valid for longer than 825 days; a start needs far less. */
const validDays = 90;

/** @param names host names and IP addresses that the certificate is for */
export function createSelfSigned(
  names: readonly string[] = ['localhost', hostname(), '127.0.0.1', '::1', ...localAddresses()],
  now = new Date(),
): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(objectId('1.2.840.10045.4.3.2')); // ecdsa-with-SHA256
  const subject = sequence(set(sequence(objectId('2.5.4.3'), utf8('Starling on this network'))));
  const serial = Buffer.concat([Buffer.from([0x40]), randomBytes(15)]);
  const keyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const content = sequence(
    tagged(0xa0, integer(Buffer.from([2]))), // version 3
    integer(serial),
    algorithm,
    subject,
    sequence(time(new Date(now.getTime() - dayMs)), time(new Date(now.getTime() + validDays * dayMs))),
    subject,
    keyInfo,
    tagged(0xa3, sequence(...extensions(names, keyInfo))),
  );
  const signature = sign('sha256', content, privateKey);
  const cert = new X509Certificate(sequence(content, algorithm, bits(signature)));
  // What is wrong should fail here and not in somebody's browser.
  if (!cert.verify(createPublicKey(privateKey))) throw new Error('The new certificate does not verify.');
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    cert: cert.toString(),
    fingerprint: cert.fingerprint256,
  };
}

function extensions(names: readonly string[], keyInfo: Uint8Array): Buffer[] {
  const keyId = createHash('sha1').update(keyInfo).digest();
  return [
    extension('2.5.29.19', sequence(), true), // basic constraints: no authority
    extension('2.5.29.15', bits(Buffer.from([0x80]), 7), true), // key usage: digital signature
    extension('2.5.29.37', sequence(objectId('1.3.6.1.5.5.7.3.1'))), // extended: server
    extension('2.5.29.17', sequence(...[...new Set(names)].map(alternativeName))),
    extension('2.5.29.14', octets(keyId)), // subject key identifier
  ];
}

function extension(id: string, value: Uint8Array, critical = false): Buffer {
  return sequence(objectId(id), ...(critical ? [yes()] : []), octets(value));
}

function alternativeName(name: string): Buffer {
  return isIP(name) === 0 ? tagged(0x82, Buffer.from(name, 'ascii')) : tagged(0x87, addressBytes(name));
}

/** 4 or 16 bytes. */
function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // A URL writes an address in its shortest form, without embedded IPv4 and zones.
  const short = new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1);
  const [before = '', after = ''] = short.split('::', 2);
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const [head, tail] = [groups(before), groups(after)];
  const zeros = new Array<string>(8 - head.length - tail.length).fill('0');
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex');
}
