import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { saveModel } from '../graph/save.ts';
import { float32Tensor, float32View } from '../graph/tensor.ts';
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
      [await write('gone.onnx', 'gone.bin'), 'MODEL_UNREADABLE', /gone\.bin does not exist/],
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
});
