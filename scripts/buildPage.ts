/** `npm run build` where dist/ is not what the sources would give; otherwise nothing. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { cachePath } from '../eval/cacheDir.ts';
import { fingerprint, isUpToDate, writeStamp } from './fingerprint.ts';

const sources = [
  ...['web', 'workers', 'runtime', 'backends', 'compiler', 'graph', 'protocol', 'public'],
  ...['index.html', 'vite.config.ts', 'package.json', 'package-lock.json', 'tsconfig.base.json'],
];

process.chdir(fileURLToPath(new URL('../', import.meta.url)));
const stamp = cachePath('build.stamp');
const print = await fingerprint(sources);
if (!existsSync('dist') || !isUpToDate(stamp, print)) {
  process.stdout.write('Building the page ...\n');
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { stdio: 'inherit' });
  if (status === 0) await writeStamp(stamp, print);
  else process.stderr.write('The page could not be built (see above).\n');
  process.exitCode = status ?? 1;
}
