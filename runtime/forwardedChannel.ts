/**
 * The Worker's end of a data channel that stays on the page (the page's end is web/forwardChannel.ts): the same
 * interface as the channel itself, over a MessagePort.
 */
import type { ToPage, ToWorker } from '../protocol/forwarding.ts';
import type { MessageChannelLike } from './channel.ts';

export function forwardedChannel(port: MessagePort): MessageChannelLike {
  return new ForwardedChannel(port);
}

class ForwardedChannel implements MessageChannelLike {
  readyState: MessageChannelLike['readyState'] = 'connecting';
  bufferedAmount = 0;
  bufferedAmountLowThreshold = 0;
  binaryType: 'blob' | 'arraybuffer' = 'arraybuffer';
  onopen: MessageChannelLike['onopen'] = null;
  onmessage: MessageChannelLike['onmessage'] = null;
  onbufferedamountlow: MessageChannelLike['onbufferedamountlow'] = null;
  onclose: MessageChannelLike['onclose'] = null;
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    this.#port = port;
    port.onmessage = (event: MessageEvent<ToWorker>) => this.#receive(event.data);
  }

  send(message: Uint8Array<ArrayBuffer>): void {
    if (this.readyState !== 'open') throw new DOMException('The channel is not open.', 'InvalidStateError');
    const { buffer, byteLength } = message;
    this.bufferedAmount += byteLength;
    const data = buffer.byteLength === byteLength ? buffer : message.slice().buffer;
    const toPage: ToPage = { type: 'send', data };
    this.#port.postMessage(toPage, [data]);
  }

  close(): void {
    if (this.readyState === 'closed') return;
    const toPage: ToPage = { type: 'close' };
    this.#port.postMessage(toPage);
    this.#shut();
  }

  #receive(message: ToWorker): void {
    if (this.readyState === 'closed') return;
    switch (message.type) {
      case 'open':
        this.readyState = 'open';
        this.onopen?.(new Event('open'));
        return;
      case 'message':
        this.onmessage?.(new MessageEvent('message', { data: message.data }));
        return;
      case 'taken': {
        const before = this.bufferedAmount;
        this.bufferedAmount -= message.bytes;
        const low = this.bufferedAmountLowThreshold;
        if (before > low && this.bufferedAmount <= low)
          this.onbufferedamountlow?.(new Event('bufferedamountlow'));
        return;
      }
      case 'close':
        this.#shut();
    }
  }

  #shut(): void {
    this.readyState = 'closed';
    this.#port.close();
    queueMicrotask(() => this.onclose?.(new Event('close')));
  }
}
