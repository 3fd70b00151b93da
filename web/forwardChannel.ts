/**
 * The page's end of a tensor channel that cannot be transferred into the Worker: passes messages on between the data
 * channel and a MessagePort, and reads none of them. A busy page then delays a run; transfer where it is there.
 */
import type { ToPage, ToWorker } from '../protocol/forwarding.ts';
import { limits } from '../protocol/limits.ts';

/** Takes over the channel's handlers; returns the port for the Worker's forwardedChannel. */
export function forwardChannel(channel: RTCDataChannel): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const tell = (message: ToWorker, transfer: Transferable[] = []) => port1.postMessage(message, transfer);
  let queue: ArrayBuffer[] = [];
  let closed = false;

  const close = () => {
    if (closed) return;
    closed = true;
    queue = [];
    channel.onopen = channel.onmessage = channel.onbufferedamountlow = channel.onclose = null;
    channel.close();
    tell({ type: 'close' });
    // The Worker closes its end when it has read that; a port that is closed here first may drop it.
    port1.onmessage = null;
  };

  const pump = () => {
    // A channel that is closing may still report room, and then loses what it is given.
    if (channel.readyState !== 'open') {
      close();
      return;
    }
    let taken = 0;
    while (channel.bufferedAmount <= limits.channelBufferedBytes) {
      const message = queue.shift();
      if (message === undefined) break;
      try {
        channel.send(message);
      } catch {
        close();
        return;
      }
      taken += message.byteLength;
    }
    if (taken > 0) tell({ type: 'taken', bytes: taken });
  };

  channel.binaryType = 'arraybuffer';
  channel.bufferedAmountLowThreshold = limits.channelLowBytes;
  channel.onbufferedamountlow = pump;
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (data instanceof ArrayBuffer) tell({ type: 'message', data }, [data]);
  };
  channel.onopen = () => tell({ type: 'open' });
  channel.onclose = close;
  port1.onmessage = ({ data }: MessageEvent<ToPage>) => {
    if (data.type === 'close') {
      close();
      return;
    }
    queue.push(data.data);
    pump();
  };
  if (channel.readyState === 'open') tell({ type: 'open' });
  else if (channel.readyState !== 'connecting') close();
  return port2;
}
