/** Where this machine has Chromium and Firefox, for the end-to-end tests. Installs nothing. */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from '@playwright/test';

interface Candidates {
  /** The environment variable that names the program; what it says is never replaced by another. */
  readonly variable: string;
  /** Names looked up in PATH. */
  readonly commands: readonly string[];
  readonly paths: readonly string[];
}

/** Undefined where there is none, or where CHROMIUM_PATH names none. */
export function findChromium(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return find(environment, {
    variable: 'CHROMIUM_PATH',
    commands: ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'],
    paths: [
      '/Applications/Chromium.app/Contents/MacOS/Chromium',
      '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
      // What `playwright install chromium` gives.
      chromium.executablePath(),
    ],
  });
}

/** Undefined where there is none, or where FIREFOX_PATH names none. */
export function findFirefox(environment: NodeJS.ProcessEnv = process.env): string | undefined {
  return find(environment, {
    variable: 'FIREFOX_PATH',
    commands: ['firefox-esr', 'firefox'],
    paths: ['/Applications/Firefox.app/Contents/MacOS/firefox'],
  });
}

function find(environment: NodeJS.ProcessEnv, candidates: Candidates): string | undefined {
  const named = environment[candidates.variable];
  if (named !== undefined && named !== '') return isProgram(named) ? named : undefined;
  const { PATH: searchPath = '' } = environment;
  const folders = searchPath.split(delimiter).filter((folder) => folder !== '');
  const inPath = candidates.commands.flatMap((command) => folders.map((folder) => join(folder, command)));
  return [...inPath, ...candidates.paths].find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
