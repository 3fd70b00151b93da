/**
 * `npm start [-- --https] [--port N]`: installs, prepares the demo's model, builds the page, and serves page and
 * signaling until it is interrupted. Each step is skipped where its result is up to date.
 */
import { ensureInstalled, runScript } from './install.mjs';

ensureInstalled();
const steps = [
  ['scripts/prepareDemo.ts', []],
  ['scripts/buildPage.ts', []],
  ['signaling/main.ts', process.argv.slice(2)],
];
for (const [script, args] of steps) {
  process.exitCode = await runScript(script, args);
  if (process.exitCode !== 0) break;
}
