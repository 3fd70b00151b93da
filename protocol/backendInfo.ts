/** Which engine a device runs on, as its Worker tells its page and its page tells the others. */

export type BackendKind = 'wasm' | 'webgpu';

/**
 * Where onnxruntime-web's files lie: a directory (absolute URL), or, where a bundler has given them names of its own,
 * the absolute address of each by its original name.
 */
export type WasmBase = string | Readonly<Record<string, string>>;

export interface BackendInfo {
  readonly kind: BackendKind;
  readonly threads: number;
  /** One sentence: why this backend and not a faster one. */
  readonly reason: string;
}
