import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium, findFirefox } from './findBrowser.ts';

describe('browsers of the machine', () => {
  let folder = '';
  let chromium = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-find-'));
    chromium = join(folder, 'chromium-browser');
    await writeFile(chromium, '');
    await chmod(chromium, 0o755);
    await writeFile(join(folder, 'firefox'), 'not executable');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('are found in PATH, in the order of the names', () => {
    expect(findChromium({ PATH: ['/nowhere', folder].join(delimiter) })).toBe(chromium);
  });

  it('are what the variable names, and nothing else', () => {
    expect(findChromium({ PATH: '', CHROMIUM_PATH: chromium })).toBe(chromium);
    expect(findChromium({ PATH: folder, CHROMIUM_PATH: join(folder, 'gone') })).toBeUndefined();
    expect(findFirefox({ PATH: '', FIREFOX_PATH: join(folder, 'firefox') })).toBeUndefined();
  });
});
