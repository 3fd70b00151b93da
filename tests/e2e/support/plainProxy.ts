/** Passes requests and WebSockets on to a server of this machine, without the headers that isolate a page. */
import { createServer, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export async function startPlainProxy(port: number): Promise<{ readonly url: string; close(): void }> {
  const target = { host: '127.0.0.1', port };
  const sockets = new Set<Socket>();
  const server = createServer((incoming, outgoing) => {
    const { url = '/', method, headers } = incoming;
    const passed = request({ ...target, path: url, method, headers }, (response) => {
      const kept = { ...response.headers };
      delete kept['cross-origin-opener-policy'];
      delete kept['cross-origin-embedder-policy'];
      outgoing.writeHead(response.statusCode ?? 502, kept);
      response.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  server.on('upgrade', (incoming, socket, head) => {
    const passed = connect(target, () => {
      const lines = incoming.rawHeaders.flatMap((text, i, all) =>
        i % 2 === 0 ? [`${text}: ${all[i + 1]}`] : [],
      );
      passed.write(`GET ${incoming.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`);
      passed.write(head);
      passed.pipe(socket).pipe(passed);
    });
    sockets.add(passed);
    passed.on('error', () => socket.destroy());
    socket.on('error', () => passed.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}
