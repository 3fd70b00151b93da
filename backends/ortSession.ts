/**
 * A Backend over onnxruntime's public API. On WASM it is the fallback where the heap cannot be reached: every
 * run copies its inputs in and its outputs out. With other session options it also serves WebGPU and Node.
 */
import { StarlingError } from '../protocol/errors.ts';
import type { Backend, ExternalData, Session, TensorHandle } from '../runtime/backend.ts';
import { ApiTensor, adoptApiOutput, uploadToApi } from './apiTensor.ts';
import { assertFeeds } from './assertFeeds.ts';
import {
  loadOrtApi,
  type OrtApi,
  type OrtModuleOptions,
  type OrtSession,
  type OrtTensor,
  ortLogSeverity,
} from './ortModule.ts';
import { probeBackend } from './probeBackend.ts';
import { type SerialQueue, serialQueue } from './serialQueue.ts';

/** WASM through `session.run`. Throws StarlingError BACKEND_UNAVAILABLE. */
export async function createSessionBackend(options: OrtModuleOptions = {}): Promise<Backend> {
  const api = await loadOrtApi('wasm', options);
  const createSession = createWith(api, { executionProviders: ['wasm'] });
  return probeBackend(apiBackend(api, { name: 'wasm', createSession }));
}

export type CreateOrtSession = (
  model: Uint8Array,
  externalData: readonly ExternalData[],
) => Promise<OrtSession>;

export interface ApiBackendOptions {
  readonly name: string;
  readonly createSession: CreateOrtSession;
}

export function createWith(api: OrtApi, options: OrtSession.SessionOptions): CreateOrtSession {
  return (model, externalData) =>
    api.InferenceSession.create(model, {
      graphOptimizationLevel: 'all',
      logSeverityLevel: ortLogSeverity,
      externalData: externalData.map(({ path, data }) => ({ path, data })),
      ...options,
    });
}

export function apiBackend(api: OrtApi, { name, createSession }: ApiBackendOptions): Backend {
  const queue = serialQueue();
  return {
    name,
    upload: (tensor) => uploadToApi(api, tensor, queue),
    createSession: (model, externalData = []) =>
      queue(async () => {
        try {
          return new ApiSession(api, await createSession(model, externalData), queue);
        } catch (thrown) {
          throw StarlingError.from(thrown, 'SESSION_FAILED', 'The session could not be created');
        }
      }),
  };
}

class ApiSession implements Session {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  readonly #api: OrtApi;
  readonly #session: OrtSession;
  readonly #queue: SerialQueue;
  #released = false;

  constructor(api: OrtApi, session: OrtSession, queue: SerialQueue) {
    this.#api = api;
    this.#session = session;
    this.#queue = queue;
    this.inputNames = session.inputNames;
    this.outputNames = session.outputNames;
  }

  run(feeds: ReadonlyMap<string, TensorHandle>): Promise<ReadonlyMap<string, TensorHandle>> {
    return this.#queue(() => this.#run(feeds));
  }

  release(): Promise<void> {
    return this.#queue(async () => {
      if (this.#released) return;
      this.#released = true;
      await this.#session.release();
    });
  }

  async #run(feeds: ReadonlyMap<string, TensorHandle>): Promise<ReadonlyMap<string, TensorHandle>> {
    if (this.#released) throw new StarlingError('SESSION_FAILED', 'The session was run after its release.');
    assertFeeds(this.inputNames, feeds);
    const tensors = Object.fromEntries([...feeds].map(([name, handle]) => [name, feedOf(name, handle)]));
    try {
      // Errors come back as exceptions; without this they are printed as well.
      const results = await this.#session.run(tensors, { logSeverityLevel: ortLogSeverity });
      return new Map(this.outputNames.map((name) => [name, this.#adopt(name, results[name])]));
    } catch (thrown) {
      throw StarlingError.from(thrown, 'SESSION_FAILED', 'The run failed');
    }
  }

  #adopt(name: string, result: OrtTensor | undefined): ApiTensor {
    if (result !== undefined && result.type !== 'string')
      return adoptApiOutput(this.#api, result, this.#queue);
    throw new StarlingError(
      'SESSION_FAILED',
      `Output "${name}" has no numeric tensor, and only those can be exchanged.`,
    );
  }
}

function feedOf(name: string, handle: TensorHandle): OrtTensor {
  if (handle instanceof ApiTensor) return handle.feed();
  throw new StarlingError('INTERNAL', `Input "${name}" is no handle of this backend.`);
}
