/**
 * What `npm start` and `npm test` need before any package is installed: checks Node, installs the packages of the
 * lockfile where they are missing, runs scripts written in TypeScript. Node's own modules only.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));

/** Vite needs it. */
const oldestNode = [20, 19];

/** Ends the process with one sentence. */
function stop(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}

function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    stop(
      `Starling needs Node ${oldestNode.join('.')} or newer, this is ${process.versions.node}; get it from nodejs.org.`,
    );
  }
}

function packagesOf(lockfile) {
  return existsSync(lockfile) ? JSON.parse(readFileSync(lockfile, 'utf8')).packages : {};
}

/** Whether node_modules holds what the lockfile asks for; optional packages may be missing (other platforms). */
function isInstalled() {
  const installed = packagesOf(`${root}node_modules/.package-lock.json`);
  return Object.entries(packagesOf(`${root}package-lock.json`)).every(
    ([path, { version, optional, devOptional }]) =>
      path === '' || optional === true || devOptional === true || installed[path]?.version === version,
  );
}

export function ensureInstalled() {
  checkNode();
  if (isInstalled()) return;
  process.stdout.write('Installing the packages of package-lock.json ...\n');
  // Nothing here needs an install script, and onnxruntime-node's would download 300 MB.
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ONNXRUNTIME_NODE_INSTALL: 'skip' },
  });
  if (status !== 0) {
    stop(
      "The packages could not be installed (see above); the npm registry must be reachable for the first start: check the connection, or set npm's registry or proxy.",
    );
  }
}

/** Runs a TypeScript file of the repository with the terminal as its own; resolves to its exit code. */
export function runScript(path, args = []) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--import', 'tsx', path, ...args], {
      cwd: root,
      stdio: 'inherit',
    });
    // A terminal sends Ctrl-C to both processes; a second one would cut the child's farewell short.
    const pass = (signal) => (signal === 'SIGINT' && process.stdin.isTTY) || child.kill(signal);
    process.on('SIGINT', pass);
    process.on('SIGTERM', pass);
    child.on('error', (error) => stop(`${path} could not be run: ${error.message}.`));
    child.on('exit', (code, signal) => {
      process.off('SIGINT', pass);
      process.off('SIGTERM', pass);
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1));
    });
  });
}
