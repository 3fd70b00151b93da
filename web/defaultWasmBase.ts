/**
 * Where the page's build lays onnxruntime-web's files. In the library's build this module is replaced: see
 * vite.config.ts.
 */
import type { WasmBase } from '../protocol/backendInfo.ts';

export function defaultWasmBase(): WasmBase {
  return new URL(/* @vite-ignore */ './ort/', import.meta.url).href;
}
