/** From the address that people give a signaling server to that of its WebSocket. */
import { StarlingError } from '../../protocol/errors.ts';

/**
 * @param url `http://host:port` (or https, or a page below it), or the whole `ws:` or `wss:` address
 * @param base what a relative address is relative to: the page's own address
 * @throws StarlingError SIGNALING_UNREACHABLE
 */
export function signalingAddress(url: string, base: string | undefined): string {
  let address: URL;
  try {
    address = new URL(url, base);
  } catch (thrown) {
    throw badAddress(url, thrown);
  }
  if (address.protocol === 'ws:' || address.protocol === 'wss:') return address.href;
  if (address.protocol !== 'http:' && address.protocol !== 'https:') throw badAddress(url);
  address.protocol = address.protocol === 'http:' ? 'ws:' : 'wss:';
  address.hash = '';
  address.search = '';
  if (!address.pathname.endsWith('/signaling')) {
    address.pathname = address.pathname.replace(/[^/]*$/, 'signaling');
  }
  return address.href;
}

function badAddress(url: string, cause?: unknown): StarlingError {
  return new StarlingError(
    'SIGNALING_UNREACHABLE',
    `The address of a signaling server starts with http:, https:, ws: or wss:, but "${url.slice(0, 200)}" was given.`,
    { cause },
  );
}
