/** Gets the browsers of the end-to-end tests where they are missing: by apt-get as root, else by Playwright's installer. */
import { spawnSync } from 'node:child_process';
import { findChromium, findFirefox } from './findBrowser.ts';

/** The path of Chromium, or the sentence that says why there is none. */
export function ensureChromium(): { readonly path: string } | { readonly problem: string } {
  const { CHROMIUM_PATH: named } = process.env;
  const path = findChromium();
  if (path !== undefined) return { path };
  if (named !== undefined && named !== '') {
    return { problem: `CHROMIUM_PATH is ${named}, which is not a program.` };
  }
  process.stdout.write('Chromium was not found; installing it ...\n');
  const installers = [
    () => aptInstall('chromium'),
    () => run('npx', ['--no-install', 'playwright', 'install', 'chromium']),
  ];
  for (const install of installers) {
    const installed = install() ? findChromium() : undefined;
    if (installed !== undefined) return { path: installed };
  }
  return {
    problem:
      'Chromium was not found and could not be installed: install Chromium or Google Chrome, or set CHROMIUM_PATH to its program, and run the tests again.',
  };
}

/** Firefox is optional: false, and the reason on the terminal, where there is none. */
export function ensureFirefox(): boolean {
  if (findFirefox() !== undefined) return true;
  if (aptInstall('firefox-esr') && findFirefox() !== undefined) return true;
  process.stdout.write('Firefox was not found (set FIREFOX_PATH or install it); its tests are skipped.\n');
  return false;
}

function aptInstall(name: string): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  const environment = { DEBIAN_FRONTEND: 'noninteractive' };
  const install = () =>
    run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', name], environment);
  return install() || (run('apt-get', ['update', '-qq'], environment) && install());
}

function run(command: string, args: readonly string[], environment: NodeJS.ProcessEnv = {}): boolean {
  const { status } = spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, ...environment } });
  return status === 0;
}
