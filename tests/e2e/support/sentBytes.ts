/** Counts what a page sends to others over WebRTC, whoever sends it: its Worker's channels belong to the page's connections. */
import type { BrowserContext, Page } from '@playwright/test';

/** Before the context's pages are opened. */
export async function countSentBytes(context: BrowserContext): Promise<void> {
  await context.addInitScript(() => {
    /** Each connection with what it had sent when it was last asked: one that is closed knows it no more. */
    const connections = new Map<RTCPeerConnection, number>();
    const Original = globalThis.RTCPeerConnection;
    globalThis.RTCPeerConnection = class extends Original {
      constructor(configuration?: RTCConfiguration) {
        super(configuration);
        connections.set(this, 0);
      }
    };
    Object.assign(globalThis, { connections });
  });
}

/** Bytes that this page has sent so far on all its connections, as the browser counts them. */
export function sentBytes(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const { connections } = globalThis as unknown as { connections: Map<RTCPeerConnection, number> };
    for (const [connection, before] of connections) {
      let sum = 0;
      for (const report of (await connection.getStats()).values()) {
        if (report.type === 'transport') sum += report.bytesSent ?? 0;
      }
      connections.set(connection, Math.max(before, sum));
    }
    return [...connections.values()].reduce((sum, sent) => sum + sent, 0);
  });
}
