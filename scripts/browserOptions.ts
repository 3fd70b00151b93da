/** How the end-to-end tests start their browsers; specs that start a second browser themselves use the same options. */
import type { LaunchOptions } from '@playwright/test';
import { findChromium, findFirefox } from './findBrowser.ts';

/** No traffic that a test did not ask for; the sandbox cannot work as root. */
export function chromiumOptions(extraArgs: readonly string[] = []): LaunchOptions {
  const executablePath = findChromium();
  return {
    ...(executablePath === undefined ? {} : { executablePath }),
    args: [
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...extraArgs,
    ],
  };
}

/** For `firefox` with the channel `moz-firefox`; undefined where this machine has no Firefox. */
export function firefoxOptions(): LaunchOptions | undefined {
  const executablePath = findFirefox();
  return executablePath === undefined ? undefined : { executablePath };
}
