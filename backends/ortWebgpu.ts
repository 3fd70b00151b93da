/**
 * The WebGPU backend: outputs stay in GPU buffers and feed the next session from there. Only for browsers;
 * whether an adapter is there is for chooseBackend to find out first.
 */
import type { Backend, ExternalData } from '../runtime/backend.ts';
import { loadOrtApi, type OrtApi, type OrtLocation, type OrtSession } from './ortModule.ts';
import { apiBackend, createWith } from './ortSession.ts';
import { probeBackend } from './probeBackend.ts';

/** Throws StarlingError BACKEND_UNAVAILABLE when `ortFiles.webgpu` or `.jspi` do not load or no GPU computes. */
export async function createWebgpuBackend(options: OrtLocation): Promise<Backend> {
  const api = await loadOrtApi(hasWebAssemblyPromises() ? 'jspi' : 'webgpu', options);
  const backend = apiBackend(api, {
    name: 'webgpu',
    createSession: (model, externalData) => createGpuSession(api, model, externalData),
  });
  return probeBackend(backend);
}

/** JSPI: the wasm stack is suspended by the browser, which needs no instrumented and larger build. */
function hasWebAssemblyPromises(): boolean {
  return 'Suspending' in WebAssembly;
}

/** Types that the API can leave in a GPU buffer; outputs of others come back to the CPU. */
const gpuTypes: ReadonlySet<string> = new Set([
  'float32',
  'float16',
  'int32',
  'int64',
  'uint32',
  'uint8',
  'bool',
]);

async function createGpuSession(
  api: OrtApi,
  model: Uint8Array,
  externalData: readonly ExternalData[],
): Promise<OrtSession> {
  const create = (
    preferredOutputLocation: NonNullable<OrtSession.SessionOptions['preferredOutputLocation']>,
  ) => createWith(api, { executionProviders: ['webgpu'], preferredOutputLocation })(model, externalData);
  const session = await create('gpu-buffer');
  const locations = session.outputMetadata.map(
    (output) => [output.name, output.isTensor && gpuTypes.has(output.type) ? 'gpu-buffer' : 'cpu'] as const,
  );
  if (locations.every(([, location]) => location === 'gpu-buffer')) return session;
  // The types are known only of a session that is there: an output that cannot stay asks for a second one.
  await session.release();
  return create(Object.fromEntries(locations));
}
