import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { serve } from './serve.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'starling-serve-'));
  await writeFile(join(directory, 'index.html'), '<p>page');
});
afterAll(() => rm(directory, { recursive: true }));

const run = async (...args: string[]) => {
  let printed = '';
  const server = await serve(args, (text) => {
    printed += text;
  });
  return { server, printed };
};

describe('serve', () => {
  it('prints the address at which the page then is', async () => {
    const { server, printed } = await run('--dir', directory, '--port', '0', '--host', '127.0.0.1');
    const address = /http:\/\/\S+/.exec(printed)?.[0] ?? '';
    expect(await (await fetch(address)).text()).toBe('<p>page');
    expect(printed).not.toContain('Other devices');
    await server?.close();
  });

  it('reads mounts and ICE servers', async () => {
    const file = join(directory, 'ice.json');
    await writeFile(file, JSON.stringify([{ urls: ['turn:turn.test'] }]));
    const args = ['--dir', directory, '--port', '0', '--host', '127.0.0.1', '--ice-servers', file];
    const { server } = await run(...args, '--mount', `/more/files=${directory}`);
    expect((await fetch(`${server?.url}/more/files/ice.json`)).status).toBe(200);
    await server?.close();
  });

  it('explains itself', async () => {
    const { server, printed } = await run('--help');
    expect(server).toBeNull();
    expect(printed).toContain('--ice-servers');
  });

  it.each([
    [['--prot', '1'], 'USAGE', '--prot'],
    [['--port', 'x'], 'USAGE', '--port takes'],
    [['--port', '65536'], 'USAGE', '--port takes'],
    [['--mount', 'models'], 'USAGE', '--mount takes'],
    [['--dir', '/there/is/none'], 'FILE_UNREADABLE', '/there/is/none'],
    [['--ice-servers', '/there/is/none'], 'FILE_UNREADABLE', 'ICE servers'],
  ])('refuses %j with %s', async (args, code, words) => {
    const given = args[0] === '--dir' ? args : ['--dir', directory, ...args];
    await expect(run(...given)).rejects.toMatchObject({ code, message: expect.stringContaining(words) });
  });
});
