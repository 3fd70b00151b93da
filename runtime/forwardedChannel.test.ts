import { describe, expect, it } from 'vitest';
import type { ToPage, ToWorker } from '../protocol/forwarding.ts';
import { forwardedChannel } from './forwardedChannel.ts';

/** The page's end of the port, played by hand; the real one is tested in browsers. */
function forwarded() {
  const { port1, port2 } = new MessageChannel();
  const toPage: ToPage[] = [];
  port1.onmessage = ({ data }: MessageEvent<ToPage>) => toPage.push(data);
  const channel = forwardedChannel(port2);
  const log: string[] = [];
  channel.onopen = () => log.push('open');
  channel.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => log.push(`message ${data.byteLength}`);
  channel.onbufferedamountlow = () => log.push(`low ${channel.bufferedAmount}`);
  channel.onclose = () => log.push('close');
  const tell = async (message: ToWorker) => {
    port1.postMessage(message);
    await new Promise((resolve) => setTimeout(resolve, 10));
  };
  return { channel, toPage, log, tell };
}

describe('forwardedChannel', () => {
  it('opens, sends and receives through the page', async () => {
    const { channel, toPage, log, tell } = forwarded();
    expect(() => channel.send(new Uint8Array(1))).toThrow(/not open/);
    await tell({ type: 'open' });
    const message = new Uint8Array(100);
    const view = new Uint8Array(100).subarray(10, 20);
    channel.send(message);
    channel.send(view);
    await tell({ type: 'message', data: new ArrayBuffer(7) });
    // The whole buffer moves; a view of a larger one is copied, so that no more than the message travels.
    expect(message.buffer.byteLength).toBe(0);
    expect(toPage.map((sent) => sent.type === 'send' && sent.data.byteLength)).toEqual([100, 10]);
    expect(log).toEqual(['open', 'message 7']);
    channel.close();
  });

  it('tells once when the page has taken enough', async () => {
    const { channel, log, tell } = forwarded();
    await tell({ type: 'open' });
    channel.bufferedAmountLowThreshold = 50;
    channel.send(new Uint8Array(100));
    expect(channel.bufferedAmount).toBe(100);
    await tell({ type: 'taken', bytes: 40 });
    await tell({ type: 'taken', bytes: 30 });
    await tell({ type: 'taken', bytes: 30 });
    expect(log).toEqual(['open', 'low 30']);
    channel.close();
  });

  it('closes from either end', async () => {
    const here = forwarded();
    await here.tell({ type: 'open' });
    here.channel.close();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(here.toPage).toEqual([{ type: 'close' }]);
    const there = forwarded();
    await there.tell({ type: 'close' });
    for (const { channel, log } of [here, there]) {
      expect(channel.readyState).toBe('closed');
      expect(log.at(-1)).toBe('close');
      expect(() => channel.send(new Uint8Array(1))).toThrow(/not open/);
    }
  });
});
