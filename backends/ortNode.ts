/**
 * The native backend for training and evaluation in Node. onnxruntime-node is large and has no binary for every
 * machine, so it is only used where somebody has installed it beside this package.
 */
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import type { OrtApi } from './ortModule.ts';
import { apiBackend, createWith } from './ortSession.ts';
import { probeBackend } from './probeBackend.ts';

export interface NodeBackendOptions {
  /** Threads of one inference; onnxruntime's own choice (all cores) without it. */
  readonly threads?: number | undefined;
}

/** Throws StarlingError BACKEND_UNAVAILABLE when onnxruntime-node is not installed or does not work here. */
export async function createNodeBackend(options: NodeBackendOptions = {}): Promise<Backend> {
  const api = await importNodeApi();
  const threads = options.threads === undefined ? {} : { intraOpNumThreads: options.threads };
  const createSession = createWith(api, { executionProviders: ['cpu'], ...threads });
  return probeBackend(apiBackend(api, { name: 'node', createSession }));
}

async function importNodeApi(): Promise<OrtApi> {
  // A value, so that neither a bundler nor the type checker looks for a package that need not be there.
  const specifier = 'onnxruntime-node';
  try {
    const namespace: OrtApi & { default?: OrtApi } = await import(/* @vite-ignore */ specifier);
    // It is CommonJS: loaders differ in whether they show its names or only the whole as default.
    return namespace.InferenceSession === undefined && namespace.default !== undefined
      ? namespace.default
      : namespace;
  } catch (thrown) {
    throw new StarlingError(
      'BACKEND_UNAVAILABLE',
      'The native backend needs the package onnxruntime-node, which is not installed or has no binary for this ' +
        'machine; install it with "npm install --no-save onnxruntime-node@1.30.0", or use the WASM backend.',
      { cause: thrown },
    );
  }
}
