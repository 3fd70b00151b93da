/** Addresses under which other devices of the local network reach this machine, the likeliest first. */
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** Interfaces of containers and virtual machines: other devices do not see them. */
const virtualNames = /^(docker|br-|veth|virbr|vmnet|vboxnet|podman|cni|flannel|utun|tun|tap|zt|tailscale)/;

/**
 * IPv4 addresses, then global or unique-local IPv6 ones; those of virtual interfaces last.
 * @param interfaces as node's networkInterfaces gives them
 */
export function localAddresses(
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]> = networkInterfaces(),
): readonly string[] {
  const found: { address: string; rank: number }[] = [];
  for (const [name, infos] of Object.entries(interfaces)) {
    for (const { address, family, internal } of infos ?? []) {
      // Link-local addresses need a zone, which no browser takes in an address.
      if (internal || /^(fe[89ab]|169\.254\.)/i.test(address)) continue;
      const rank = (virtualNames.test(name) ? 2 : 0) + (family === 'IPv4' ? 0 : 1);
      found.push({ address, rank });
    }
  }
  return found.sort((left, right) => left.rank - right.rank).map(({ address }) => address);
}

/** As part of a URL: IPv6 addresses stand in brackets. */
export function urlHost(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
