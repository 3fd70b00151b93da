import { createHash } from 'node:crypto';
import { copyFile, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { saveModel } from '../graph/save.ts';
import { float32Tensor, float32View } from '../graph/tensor.ts';
import { starling } from '../tests/support/commandLine.ts';
import { writeBytes } from './files.ts';
import { readModelFile } from './modelFile.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'starling-model-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Writes y = x + w with w in a file of its own that the model calls `location`. */
async function write(name: string, location: string): Promise<string> {
  const { bytes, external } = saveModel(
    {
      irVersion: 8,
      opsets: new Map([['', 17]]),
      producer: '',
      metadata: new Map(),
      graph: {
        name: 'g',
        inputs: [{ name: 'x', dataType: 'float32', shape: [2] }],
        outputs: [{ name: 'y', dataType: 'float32', shape: [2] }],
        nodes: [
          { name: 'n', opType: 'Add', domain: '', inputs: ['x', 'w'], outputs: ['y'], attributes: new Map() },
        ],
        initializers: new Map([['w', float32Tensor([2], [3, 4])]]),
        values: new Map(),
      },
    },
    { external: { path: location, threshold: 1 } },
  );
  await writeBytes(join(folder, name), bytes);
  if (external !== undefined) await writeBytes(join(folder, 'inner', 'w.bin'), external);
  return join(folder, name);
}

describe('readModelFile', () => {
  it('reads weights that lie beside the model', async () => {
    const { graph } = await readModelFile(await write('good.onnx', 'inner/w.bin'));
    const w = graph.initializers.get('w');
    expect(w && [...float32View(w)]).toEqual([3, 4]);
  });

  it('refuses missing files and names that lead out of the folder', async () => {
    const cases = [
      [join(folder, 'none.onnx'), 'MODEL_NOT_FOUND', /none\.onnx does not exist/],
      [
        await write('gone.onnx', 'gone.bin'),
        'DATA_FILE_MISSING',
        /gone\.onnx keeps weights .*gone\.bin does not exist/,
      ],
      [
        await write('inner/out.onnx', '../inner/w.bin'),
        'MODEL_UNREADABLE',
        /outside (its|the model's) folder/,
      ],
      [
        await write('root.onnx', join(folder, 'inner/w.bin')),
        'MODEL_UNREADABLE',
        /outside (its|the model's) folder/,
      ],
    ] as const;
    for (const [path, code, message] of cases) {
      await expect(readModelFile(path)).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
    }
  });

  it('follows links within the folder and where both files are links, but none that leads out', async () => {
    const elsewhere = await mkdtemp(join(tmpdir(), 'starling-linked-'));
    const model = await write('linked.onnx', 'link.bin');
    const data = join(folder, 'inner', 'w.bin');
    await symlink(data, join(folder, 'link.bin'));
    await expect(readModelFile(model)).resolves.toBeDefined();

    // As a cache of downloads does: everything in one folder, and names that link there.
    await symlink(model, join(elsewhere, 'model.onnx'));
    await symlink(data, join(elsewhere, 'link.bin'));
    await expect(readModelFile(join(elsewhere, 'model.onnx'))).resolves.toBeDefined();

    await copyFile(model, join(elsewhere, 'stranger.onnx'));
    await expect(readModelFile(join(elsewhere, 'stranger.onnx'))).rejects.toMatchObject({
      code: 'MODEL_UNREADABLE',
      message: expect.stringMatching(/outside its folder/),
    });
    await rm(elsewhere, { recursive: true });
  });

  it('compiles, and the plan knows the data file as a part of its source', async () => {
    const { err, code } = await starling(
      'compile',
      await write('planned.onnx', 'inner/w.bin'),
      '--shards',
      '2',
      '--out',
      join(folder, 'plan'),
    );
    expect([code, err]).toEqual([0, '']);
    const plan = JSON.parse(await readFile(join(folder, 'plan', 'plan.json'), 'utf8'));
    const [model, data] = await Promise.all(
      ['planned.onnx', 'inner/w.bin'].map((name) => readFile(join(folder, name))),
    );
    const hash = createHash('sha256')
      .update(model ?? '')
      .update(data ?? '')
      .digest('hex');
    expect(plan.source).toMatchObject({ sha256: hash, bytes: (model?.length ?? 0) + (data?.length ?? 0) });
  });
});
