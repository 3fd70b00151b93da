/**
 * Makes a backend compute 1 + 1. The public API starts its WASM and its GPU device only with the first session,
 * so without this a backend that cannot work would be found out when a model loads.
 */
import { float32Tensor, float32View } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';

/** A serialised ModelProto (opset 17): y = x + x, float32, one element. */
const doubling = 'CAg6NQoOCgF4CgF4EgF5IgNBZGQSAXBaDwoBeBIKCggIARIECgIIAWIPCgF5EgoKCAgBEgQKAggBQgQKABAR';

/** Returns the backend. Throws StarlingError BACKEND_UNAVAILABLE with the reason when it does not work. */
export async function probeBackend(backend: Backend): Promise<Backend> {
  try {
    const session = await backend.createSession(Uint8Array.from(atob(doubling), (c) => c.charCodeAt(0)));
    const input = backend.upload(float32Tensor([1], [1]));
    const output = (await session.run(new Map([['x', input]]))).get('y');
    const result = output === undefined ? undefined : float32View(await output.read())[0];
    output?.release();
    input.release();
    await session.release();
    if (result !== 2) throw new Error(`1 + 1 came out as ${result}`);
    return backend;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    throw new StarlingError('BACKEND_UNAVAILABLE', `The ${backend.name} backend does not work: ${reason}`, {
      cause: thrown,
    });
  }
}
