import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { importTfjsFiles } from '../../cli/commands/importTfjs.ts';
import { esrganMedium, esrganSlim } from '../../eval/esrganPackages.ts';
import { maxAbsError, psnrY } from '../../eval/metrics.ts';
import { imageOf, planesOf } from '../../eval/pixels.ts';
import { loadSet5 } from '../../eval/set5.ts';
import { seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { fetchOrSkip } from '../support/fetchOrSkip.ts';
import { hasShared, readSharedModel, sharedFolder } from '../support/shared.ts';

describe('the ESRGAN packages of npm', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  async function upscale(model: Uint8Array, picture: Float32Array, height: number, width: number) {
    const session = await backend.createSession(model);
    const [name = ''] = session.inputNames;
    const input = backend.upload(float32Tensor([1, 3, height, width], picture));
    const [output] = (await session.run(new Map([[name, input]]))).values();
    if (output === undefined) throw new Error('The session gave no output.');
    const tensor = await output.read();
    output.release();
    input.release();
    await session.release();
    return { dims: tensor.dims, values: float32View(tensor) };
  }

  it('slim x4 equals the converted model and reaches its figure on Set5', {
    timeout: 180_000,
  }, async (context) => {
    const folder = await fetchOrSkip(esrganSlim);
    if (folder === undefined || !hasShared) return context.skip();
    const imported = saveModel(await importTfjsFiles(join(folder, 'models/x4/model.json'))).bytes;
    const reference = readSharedModel('esrgan-slim-x4.onnx');
    const pairs = await loadSet5(`${sharedFolder}data/set5`);
    let psnr = 0;
    for (const { low, high } of pairs) {
      const picture = planesOf(low);
      const own = await upscale(imported, picture, low.height, low.width);
      const other = await upscale(reference, picture, low.height, low.width);
      expect(maxAbsError(own.values, other.values)).toBeLessThan(1e-6);
      psnr += psnrY(imageOf(own.values, high.width, high.height), high, 4) / pairs.length;
    }
    expect(psnr).toBeCloseTo(28.64, 2);
  });

  it('every scale of slim and medium is imported and enlarges by that much', {
    timeout: 180_000,
  }, async (context) => {
    const random = seededRandom(7);
    const picture = Float32Array.from({ length: 3 * 9 * 7 }, () => random());
    for (const wanted of [esrganSlim, esrganMedium]) {
      const folder = await fetchOrSkip(wanted);
      if (folder === undefined) return context.skip();
      for (const scale of [2, 3, 4, 8]) {
        const model = saveModel(await importTfjsFiles(join(folder, `models/x${scale}/model.json`))).bytes;
        const { dims, values } = await upscale(model, picture, 9, 7);
        expect(dims).toEqual([1, 3, 9 * scale, 7 * scale]);
        expect(values.every(Number.isFinite)).toBe(true);
      }
    }
  });

  it('the packages are what their readme says: MIT', async (context) => {
    const folder = await fetchOrSkip(esrganSlim);
    if (folder === undefined) return context.skip();
    expect(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))).toMatchObject({
      license: 'MIT',
    });
  });
});
