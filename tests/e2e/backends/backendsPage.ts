/** The page of backends.spec.ts: one module Worker for each chain. */
import type { ChainRequest, ChainResult } from './backendsWorker.ts';

declare global {
  interface Window {
    runChain(request: ChainRequest): Promise<ChainResult>;
  }
}

window.runChain = async (request) => {
  const worker = new Worker('/worker.js', { type: 'module' });
  try {
    return await new Promise((resolve, reject) => {
      worker.onerror = (event) => reject(new Error(event.message));
      worker.onmessage = ({ data }) => {
        if (data.error === undefined) resolve(data.result);
        else reject(new Error(data.error));
      };
      worker.postMessage({ ...request, wasmBase: new URL('/ort/', location.href).href });
    });
  } finally {
    worker.terminate();
  }
};
