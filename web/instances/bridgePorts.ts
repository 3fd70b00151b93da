/** Joins two Workers of one page by a channel, as forwardChannel.ts joins one Worker to a data channel. Reads nothing. */
import type { ToPage, ToWorker } from '../../protocol/forwarding.ts';

/** Two ports, one for each Worker's forwardedChannel, and what ends them. */
export function bridgePorts(): { readonly ports: readonly [MessagePort, MessagePort]; close(): void } {
  const [a, b] = [new MessageChannel(), new MessageChannel()];
  const tell = (port: MessagePort, message: ToWorker, transfer: Transferable[] = []) =>
    port.postMessage(message, transfer);
  const close = () => {
    for (const port of [a.port1, b.port1]) {
      tell(port, { type: 'close' });
      port.onmessage = null;
    }
  };
  const forward = (from: MessagePort, to: MessagePort) => {
    from.onmessage = ({ data: message }: MessageEvent<ToPage>) => {
      if (message.type === 'close') {
        close();
        return;
      }
      const bytes = message.data.byteLength;
      tell(to, { type: 'message', data: message.data }, [message.data]);
      tell(from, { type: 'taken', bytes });
    };
    tell(from, { type: 'open' });
  };
  forward(a.port1, b.port1);
  forward(b.port1, a.port1);
  return { ports: [a.port2, b.port2], close };
}
