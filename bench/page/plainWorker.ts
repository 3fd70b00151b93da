/** What an application without this library does: one session of onnxruntime-web's public API in a Worker. */
import { expose, transfer } from 'comlink';
import { loadOrtApi, type OrtApi, type OrtSession } from '../../backends/ortModule.ts';
import type { WasmBase } from '../../protocol/backendInfo.ts';

let loaded: { readonly ort: OrtApi; readonly session: OrtSession } | null = null;

const api = {
  async open(modelUrl: string, wasmBase: WasmBase): Promise<void> {
    const ort = await loadOrtApi('wasm', { threads: 1, wasmBase });
    const bytes = new Uint8Array(await (await fetch(modelUrl)).arrayBuffer());
    const session = await ort.InferenceSession.create(bytes, {
      executionProviders: ['wasm'],
      graphOptimizationLevel: 'all',
    });
    loaded = { ort, session };
  },

  async run(name: string, data: Float32Array, dims: readonly number[]): Promise<Float32Array[]> {
    if (loaded === null) throw new Error('No model is open.');
    const { ort, session } = loaded;
    const results = await session.run({ [name]: new ort.Tensor('float32', data, dims) });
    const outputs = session.outputNames.map((output) => results[output]?.data as Float32Array<ArrayBuffer>);
    return transfer(
      outputs,
      outputs.map(({ buffer }) => buffer),
    );
  },
};

export type PlainWorkerApi = typeof api;

expose(api);
