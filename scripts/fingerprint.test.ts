import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fingerprint, isUpToDate, writeStamp } from './fingerprint.ts';

describe('fingerprint', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'starling-print-'));
    await mkdir(join(folder, 'a/b'), { recursive: true });
    await writeFile(join(folder, 'a/b/one.ts'), '1');
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('follows content, names and texts, and not tests or what is missing', async () => {
    const print = () => fingerprint([join(folder, 'a'), join(folder, 'missing')], ['x']);
    const first = await print();
    expect(await print()).toBe(first);
    await writeFile(join(folder, 'a/one.test.ts'), '1');
    expect(await print()).toBe(first);
    expect(await fingerprint([join(folder, 'a')], ['y'])).not.toBe(first);
    await writeFile(join(folder, 'a/b/one.ts'), '2');
    const second = await print();
    expect(second).not.toBe(first);
    await writeFile(join(folder, 'a/two.ts'), '');
    expect(await print()).not.toBe(second);
  });

  it('is kept in a stamp', async () => {
    const stamp = join(folder, 'new/stamp');
    expect(isUpToDate(stamp, 'p')).toBe(false);
    await writeStamp(stamp, 'p');
    expect(isUpToDate(stamp, 'p')).toBe(true);
    expect(isUpToDate(stamp, 'q')).toBe(false);
  });
});
