/**
 * The demo's model: ESRGAN slim x4 from its npm package, imported and compiled into public/models/. Nothing of it is
 * committed. Does nothing where model, options and compiler are as they were.
 */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommandLine } from '../cli/runCommandLine.ts';
import { cachePath } from '../eval/cacheDir.ts';
import { esrganSlim } from '../eval/esrganPackages.ts';
import { fetchNpmPackage } from '../eval/npmPackage.ts';
import { StarlingError } from '../protocol/errors.ts';
import { fingerprint, isUpToDate, writeStamp } from './fingerprint.ts';

const scale = 4;
const name = `esrgan-slim-x${scale}`;
/**
 * Four strips go round two, three or four devices; a tile of 128 pixels keeps a phone's memory small. By rows the
 * devices exchange 1 % of what they would by channels, and pixels travel as bytes.
 */
const compileOptions = ['--shards', '4', '--axis', 'rows', '--pixels', 'both', '--shape', 'LR=1x3x128x128'];

process.chdir(fileURLToPath(new URL('../', import.meta.url)));
try {
  process.exitCode = await prepareDemo();
} catch (thrown) {
  const error = StarlingError.from(thrown, 'INTERNAL');
  process.stderr.write(`${error.code}: ${error.message}\n`);
  process.exitCode = 1;
}

async function prepareDemo(): Promise<number> {
  const plan = `public/models/${name}`;
  const stamp = cachePath(`${name}.stamp`);
  const sources = ['compiler', 'graph', 'protocol', 'runtime', 'cli', 'package-lock.json'];
  const print = await fingerprint(sources, [esrganSlim.integrity, ...compileOptions]);
  if (existsSync(join(plan, 'plan.json')) && isUpToDate(stamp, print)) return 0;
  process.stdout.write(`Preparing the demo's model ${name} ...\n`);
  const packageFolder = await fetchNpmPackage(esrganSlim);
  const onnx = cachePath(`${name}.onnx`);
  await rm(plan, { recursive: true, force: true });
  const commands = [
    ['import-tfjs', join(packageFolder, `models/x${scale}/model.json`), '--out', onnx],
    ['compile', onnx, ...compileOptions, '--out', plan],
  ];
  for (const command of commands) {
    const code = await runCommandLine(command, {
      print: (line) => process.stdout.write(`${line}\n`),
      stderr: process.stderr,
    });
    if (code !== 0) return code;
  }
  await writeStamp(stamp, print);
  return 0;
}
