/** Runs a serialised model once and gives plain tensors: create, upload, run, read, release. */
import type { Tensor } from '../../graph/tensor.ts';
import type { Backend, ExternalData } from '../../runtime/backend.ts';

export async function runOnce(
  backend: Backend,
  model: Uint8Array,
  feeds: ReadonlyMap<string, Tensor>,
  externalData: readonly ExternalData[] = [],
): Promise<ReadonlyMap<string, Tensor>> {
  const session = await backend.createSession(model, externalData);
  const inputs = new Map([...feeds].map(([name, tensor]) => [name, backend.upload(tensor)]));
  try {
    const outputs = new Map<string, Tensor>();
    for (const [name, handle] of await session.run(inputs)) {
      outputs.set(name, await handle.read());
      handle.release();
    }
    return outputs;
  } finally {
    for (const handle of inputs.values()) handle.release();
    await session.release();
  }
}
