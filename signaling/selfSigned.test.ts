import { X509Certificate } from 'node:crypto';
import { get } from 'node:https';
import { checkServerIdentity, connect } from 'node:tls';
import { describe, expect, it } from 'vitest';
import { localAddresses } from './addresses.ts';
import { createSelfSigned } from './selfSigned.ts';
import { createSignalingServer } from './server.ts';

describe('a self-signed certificate', () => {
  it('is for all its names and no other, and no authority', () => {
    const names = [
      'localhost',
      'box.local',
      '127.0.0.1',
      '192.168.1.20',
      '::1',
      'fd00:12::a:0:1',
      '2001:db8::',
    ];
    const cert = new X509Certificate(createSelfSigned(names).cert);
    for (const name of names) {
      const match = name.includes(':') || /^\d/.test(name) ? cert.checkIP(name) : cert.checkHost(name);
      expect(match, name).toBe(name);
    }
    expect(cert.checkHost('example.org')).toBeUndefined();
    expect(cert.checkIP('10.0.0.1')).toBeUndefined();
    expect(cert.ca).toBe(false);
    expect(cert.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(cert.verify(cert.publicKey)).toBe(true);
  });

  it('is valid from yesterday on, for less than Apple allows, and another each time', () => {
    const now = new Date('2031-05-06T07:08:09Z');
    const cert = new X509Certificate(createSelfSigned(['localhost'], now).cert);
    expect(Date.parse(cert.validFrom)).toBe(Date.parse('2031-05-05T07:08:09Z'));
    const days = (Date.parse(cert.validTo) - now.getTime()) / 86_400_000;
    expect(days).toBeGreaterThan(30);
    expect(days).toBeLessThan(825);
    const other = new X509Certificate(createSelfSigned(['localhost'], now).cert);
    expect(other.serialNumber).not.toBe(cert.serialNumber);
    expect(other.fingerprint256).not.toBe(cert.fingerprint256);
  });

  it('serves https to a client that trusts it, and fails for one that does not', async () => {
    const https = createSelfSigned(['localhost', '127.0.0.1']);
    const server = await createSignalingServer({ https });
    const status = (ca: string[]) =>
      new Promise<number>((resolve, reject) => {
        get(`${server.url}/healthz`, { ca }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        }).on('error', reject);
      });
    expect(server.url).toMatch(/^https:/);
    expect(await status([https.cert])).toBe(200);
    await expect(status([])).rejects.toThrow(/self.signed/);
    const shown = await new Promise<string>((resolve, reject) => {
      const socket = connect(
        { host: '127.0.0.1', port: server.port, ca: [https.cert], checkServerIdentity },
        () => {
          resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? '');
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });
    expect(shown).toBe(https.fingerprint);
    await server.close();
  });
});

it('local addresses are those that others reach, containers last', () => {
  const info = (address: string, internal = false) => ({
    address,
    internal,
    family: address.includes(':') ? ('IPv6' as const) : ('IPv4' as const),
    netmask: '',
    mac: '',
    cidr: null,
    scopeid: 0,
  });
  const addresses = localAddresses({
    lo: [info('127.0.0.1', true), info('::1', true)],
    docker0: [info('172.17.0.1')],
    wlan0: [info('fe80::1'), info('fd00::5'), info('192.168.1.20')],
    eth1: [info('169.254.3.4')],
  });
  expect(addresses).toEqual(['192.168.1.20', 'fd00::5', '172.17.0.1']);
});
