/** Runs a benchmark in a network of its own, where this machine can make one: in a process of the same command line. */
import { spawnSync } from 'node:child_process';
import { isolatedNetworkPrefix } from '../scripts/isolatedNetwork.ts';

/** Set in the process that runs in a network of its own. */
const isolatedVariable = 'STARLING_BENCH_ISOLATED';

/** `main` is told whether the network is its own. */
export async function inIsolation(main: (isolated: boolean) => Promise<void>): Promise<void> {
  const isInside = process.env[isolatedVariable] !== undefined;
  const [command, ...rest] = isInside ? [] : isolatedNetworkPrefix();
  if (command === undefined) return main(isInside);
  const env = { ...process.env, [isolatedVariable]: '1' };
  const args = [...rest, process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.exitCode = spawnSync(command, args, { stdio: 'inherit', env }).status ?? 1;
}
