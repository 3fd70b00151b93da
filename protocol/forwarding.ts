/**
 * Messages between a page that keeps a data channel and the Worker that uses it, where the channel itself cannot be
 * transferred. Buffers go in the transfer list, so nothing is copied.
 */
export type ToWorker =
  | { readonly type: 'open' }
  | { readonly type: 'message'; readonly data: ArrayBuffer }
  /** The data channel has taken so many bytes; the Worker may send as many more. */
  | { readonly type: 'taken'; readonly bytes: number }
  | { readonly type: 'close' };

export type ToPage = { readonly type: 'send'; readonly data: ArrayBuffer } | { readonly type: 'close' };
