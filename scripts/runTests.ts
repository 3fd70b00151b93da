/**
 * Runs checks, build, unit and end-to-end tests one after the other, whatever fails before, and ends with the line
 * `N passed, N failed`. Arguments choose parts: checks, build, unit, e2e.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cachePath } from '../eval/cacheDir.ts';
import { ensureChromium, ensureFirefox } from './installBrowser.ts';
import { isolatedNetworkPrefix } from './isolatedNetwork.ts';
import { type Counts, playwrightCounts, sum, vitestCounts } from './testCounts.ts';

const parts = { checks, build, unit, e2e } as const;
type Part = keyof typeof parts;

process.chdir(fileURLToPath(new URL('../', import.meta.url)));
process.exitCode = main(process.argv.slice(2));

function main(args: readonly string[]): number {
  const names = Object.keys(parts) as Part[];
  const unknown = args.find((arg) => !names.some((name) => name === arg));
  if (unknown !== undefined) {
    process.stderr.write(`There is no part ${unknown}; the parts are ${names.join(', ')}.\n`);
    return 2;
  }
  const all = names
    .filter((name) => args.length === 0 || args.includes(name))
    .flatMap((name) => {
      title(name);
      const counts = parts[name]();
      return counts.map((entry) => ({ name, ...entry }));
    });
  title('sum');
  for (const { name, label, passed, failed, skipped } of all) {
    process.stdout.write(
      `${`${name}: ${label}`.padEnd(28)} ${passed} passed, ${failed} failed, ${skipped} skipped\n`,
    );
  }
  const total = sum(all);
  process.stdout.write(`${total.passed} passed, ${total.failed} failed\n`);
  return total.failed > 0 || total.passed === 0 ? 1 : 0;
}

type Entry = Counts & { readonly label: string };

/** Every script of package.json that is called check:something is one item. */
function checks(): Entry[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  return Object.keys(scripts)
    .filter((name) => name.startsWith('check:'))
    .map((name) => item(name, run(['npm', 'run', '--silent', name])));
}

function build(): Entry[] {
  return [
    item('demo model', run([process.execPath, '--import', 'tsx', 'scripts/prepareDemo.ts'])),
    item('page', run([process.execPath, '--import', 'tsx', 'scripts/buildPage.ts'])),
  ];
}

function unit(): Entry[] {
  const report = cachePath('vitest.json');
  rmSync(report, { force: true });
  const code = run([
    'npx',
    '--no-install',
    'vitest',
    'run',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]);
  return [{ label: 'vitest', ...readCounts(report, code, vitestCounts) }];
}

function e2e(): Entry[] {
  const chromium = ensureChromium();
  if ('problem' in chromium) {
    process.stderr.write(`${chromium.problem}\n`);
    return [item('chromium', 1)];
  }
  ensureFirefox();
  const prefix = isolatedNetworkPrefix();
  process.stdout.write(
    prefix.length > 0 ? 'In a network namespace of its own.\n' : "On the machine's network.\n",
  );
  const report = cachePath('playwright.json');
  rmSync(report, { force: true });
  const code = run([...prefix, 'npx', '--no-install', 'playwright', 'test', '--reporter=list,json'], {
    CHROMIUM_PATH: chromium.path,
    PLAYWRIGHT_JSON_OUTPUT_FILE: report,
  });
  return [{ label: 'playwright', ...readCounts(report, code, playwrightCounts) }];
}

function readCounts(
  report: string,
  exitCode: number,
  count: (report: unknown, exitCode: number) => Counts,
): Counts {
  try {
    return count(JSON.parse(readFileSync(report, 'utf8')), exitCode);
  } catch (thrown) {
    process.stderr.write(`The runner left no report: ${String(thrown)}\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

function item(label: string, exitCode: number): Entry {
  return { label, passed: exitCode === 0 ? 1 : 0, failed: exitCode === 0 ? 0 : 1, skipped: 0 };
}

/** Exit code of a command that has the terminal as its own. */
function run([command = '', ...args]: readonly string[], environment: NodeJS.ProcessEnv = {}): number {
  const { status, error } = spawnSync(command, args, {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  });
  if (error !== undefined) process.stderr.write(`${command}: ${error.message}\n`);
  return status ?? 1;
}

function title(text: string): void {
  process.stdout.write(`\n== ${text}\n`);
}
