/** Which engine a device runs on, as its Worker tells its page and its page tells the others. */

export type BackendKind = 'wasm' | 'webgpu';

export interface BackendInfo {
  readonly kind: BackendKind;
  readonly threads: number;
  /** One sentence: why this backend and not a faster one. */
  readonly reason: string;
}
