/** `npm test`: installs what is missing, then runs every check and every test; the last line is the sum. */
import { ensureInstalled, runScript } from './install.mjs';

ensureInstalled();
process.exitCode = await runScript('scripts/runTests.ts', process.argv.slice(2));
