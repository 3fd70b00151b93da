/**
 * From arguments to a running server and the words that tell where it is; the server itself is server.ts, the
 * process main.ts.
 */
import { readFile, stat } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { renderUnicodeCompact } from 'uqr';
import * as v from 'valibot';
import { StarlingError } from '../protocol/errors.ts';
import { type IceServer, iceServerSchema } from '../protocol/signaling.ts';
import { localAddresses, urlHost } from './addresses.ts';
import { createSelfSigned } from './selfSigned.ts';
import { createSignalingServer, type SignalingServer } from './server.ts';

export const usage = `Serves the page and the signaling from one port.

Options:
  --dir DIRECTORY          the built page (default: dist/page)
  --mount PREFIX=DIRECTORY more files, as in /models=public/models; may be repeated
  --port NUMBER            port to listen on (default: 8080; 0 takes any free one)
  --host ADDRESS           address to listen on (default: 0.0.0.0, all networks; 127.0.0.1 for this machine only)
  --https                  with a certificate that this machine signs itself
  --ice-servers FILE       JSON list of STUN and TURN servers for all members: [{"urls": ["turn:..."], ...}]
  --help                   this text
`;

/** Starts a server, or prints the usage and returns null. Throws a StarlingError that names the cause. */
export async function serve(
  args: readonly string[],
  print: (text: string) => void,
): Promise<SignalingServer | null> {
  const options = parse(args);
  if (options.help) {
    print(usage);
    return null;
  }
  const mounts = { '/': options.dir, ...Object.fromEntries(options.mount.map(parseMount)) };
  for (const directory of Object.values(mounts)) await requireDirectory(directory);
  const certificate = options.https ? createSelfSigned() : null;
  const server = await createSignalingServer({
    port: parsePort(options.port),
    host: options.host,
    mounts,
    iceServers: options['ice-servers'] === undefined ? [] : await readIceServers(options['ice-servers']),
    ...(certificate === null ? {} : { https: certificate }),
  });
  print(greeting(server, options.host, certificate?.fingerprint ?? null));
  return server;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        dir: { type: 'string', default: 'dist/page' },
        mount: { type: 'string', multiple: true, default: [] },
        port: { type: 'string', default: '8080' },
        host: { type: 'string', default: '0.0.0.0' },
        https: { type: 'boolean', default: false },
        'ice-servers': { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (thrown) {
    throw StarlingError.from(thrown, 'USAGE');
  }
}

function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : -1;
  if (port >= 0 && port <= 65_535) return port;
  throw new StarlingError('USAGE', `--port takes a number from 0 to 65535, but "${text}" was given.`);
}

function parseMount(text: string): [string, string] {
  const match = /^(\/[^=]+)=(.+)$/.exec(text);
  if (match?.[1] !== undefined && match[2] !== undefined) return [match[1], match[2]];
  throw new StarlingError('USAGE', `--mount takes /PREFIX=DIRECTORY, but "${text}" was given.`);
}

async function requireDirectory(directory: string): Promise<void> {
  const info = await stat(directory).catch(() => null);
  if (info?.isDirectory() === true) return;
  throw new StarlingError(
    'FILE_UNREADABLE',
    `A directory of files to serve was expected at "${directory}", but there is none; build the page first, or name another.`,
  );
}

async function readIceServers(file: string): Promise<IceServer[]> {
  try {
    return v.parse(v.array(iceServerSchema), JSON.parse(await readFile(file, 'utf8')));
  } catch (thrown) {
    throw StarlingError.from(thrown, 'FILE_UNREADABLE', `The ICE servers in "${file}" cannot be read`);
  }
}

function greeting({ url, port }: SignalingServer, host: string, fingerprint: string | null): string {
  const scheme = url.slice(0, url.indexOf(':'));
  const open = host === '0.0.0.0' || host === '::';
  const others = (open ? localAddresses() : [])
    .filter((address) => host === '::' || !address.includes(':'))
    .map((address) => `${scheme}://${urlHost(address)}:${port}/`);
  const lines = [`Starling is ready at ${url}/`];
  const [first] = others;
  if (first === undefined) {
    if (open) lines.push('This machine has no address that other devices could reach.');
  } else {
    lines.push('Other devices in the same network open:', ...others.map((other) => `  ${other}`));
    lines.push('', renderUnicodeCompact(first, { border: 2 }), '');
    if (fingerprint === null) {
      lines.push(
        'Over plain http, other devices compute on one thread and without WebGPU; --https gives them both.',
      );
    }
  }
  if (fingerprint !== null) {
    lines.push(
      'Browsers warn of this certificate because this machine signed it itself; accept it if its SHA-256 is',
      `  ${fingerprint}`,
    );
  }
  return `${lines.join('\n')}\n`;
}
