/**
 * What a link needs of a channel: whole messages, in order, with a buffer that can be watched. An RTCDataChannel
 * satisfies it as it is; memoryChannel.ts and forwardedChannel.ts hold the others.
 */
export interface MessageChannelLike {
  readonly readyState: 'connecting' | 'open' | 'closing' | 'closed';
  /** Bytes given to `send` that have not left yet. */
  readonly bufferedAmount: number;
  /** `onbufferedamountlow` is called when `bufferedAmount` falls to this or below. */
  bufferedAmountLowThreshold: number;
  binaryType: 'blob' | 'arraybuffer';
  /** The channel may take the buffer: whoever calls does not touch it again. Throws unless `open`. */
  send(message: Uint8Array<ArrayBuffer>): void;
  close(): void;
  onopen: ((event: Event) => unknown) | null;
  /** `data` is an ArrayBuffer or a Uint8Array; anything else is not a frame. */
  onmessage: ((event: MessageEvent) => unknown) | null;
  onbufferedamountlow: ((event: Event) => unknown) | null;
  onclose: ((event: Event) => unknown) | null;
}
