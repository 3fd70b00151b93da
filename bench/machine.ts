/** What this machine is, and how much of it others use meanwhile. Linux; elsewhere the figures are null. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os';

/** In ticks, of all cores together. */
interface CpuTimes {
  readonly total: number;
  readonly busy: number;
  /** Of this process and everything it started. */
  readonly own: number;
}

function fields(path: string): string[] {
  return readFileSync(path, 'utf8').trim().split(/\s+/);
}

function cpuTimes(): CpuTimes | null {
  if (process.platform !== 'linux') return null;
  // user nice system idle iowait irq softirq steal
  const all = fields('/proc/stat').slice(1, 9).map(Number);
  const total = all.reduce((sum, one) => sum + one, 0);
  const idle = (all[3] ?? 0) + (all[4] ?? 0);
  const parents = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      // The name in parentheses may hold spaces.
      const [, rest = ''] = readFileSync(`/proc/${name}/stat`, 'utf8').split(/\) (?=\S+ \d+ )/);
      const cells = rest.split(' ').map(Number);
      const ticks = (cells[11] ?? 0) + (cells[12] ?? 0);
      parents.set(Number(name), { parent: cells[1] ?? 0, ticks });
    } catch {
      // It ended meanwhile.
    }
  }
  const isOwn = (pid: number): boolean => {
    for (let at = pid; at > 1; at = parents.get(at)?.parent ?? 0) if (at === process.pid) return true;
    return false;
  };
  let own = 0;
  for (const [pid, { ticks }] of parents) if (isOwn(pid)) own += ticks;
  return { total, busy: total - idle, own };
}

/** Watches from the call on; what it returns tells how many cores others used since then, or null. */
export function watchOthers(): () => number | null {
  const before = cpuTimes();
  return () => {
    const after = cpuTimes();
    if (before === null || after === null || after.total === before.total) return null;
    const others = after.busy - before.busy - (after.own - before.own);
    return Math.max(0, (others / (after.total - before.total)) * availableParallelism());
  };
}

/** Waits until others use at most `cores`, and for no longer than `limitMs`. */
export async function waitForCalm(cores: number, limitMs: number): Promise<void> {
  const end = Date.now() + limitMs;
  while (Date.now() < end) {
    const others = watchOthers();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    if ((others() ?? 0) <= cores) return;
  }
}

export function describeMachine() {
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    platform: `${process.platform} ${process.arch}`,
    node: process.version,
    scheduling: schedulingClass(),
    realTimeShare: realTimeShare(),
    realTimeSliceMs: realTimeSliceMs(),
  };
}

/** SCHED_OTHER, or a real-time class, which browsers inherit: `chrt -r 10 npm run bench`. */
function schedulingClass(): string | null {
  try {
    return (
      /SCHED_\w+/.exec(execFileSync('chrt', ['-p', String(process.pid)], { encoding: 'utf8' }))?.[0] ?? null
    );
  } catch {
    return null;
  }
}

/** Others only get what this process leaves. */
export function isRealTime(): boolean {
  return ['SCHED_RR', 'SCHED_FIFO'].includes(schedulingClass() ?? '');
}

/**
 * The part of each second that real-time processes may have; the kernel stops them for the rest, which a p95 sees where
 * they use every core: `sysctl kernel.sched_rt_runtime_us=1000000` for as long as is measured.
 */
function realTimeShare(): number | null {
  try {
    const [runtime, period] = ['runtime', 'period'].map((name) =>
      Number(readFileSync(`/proc/sys/kernel/sched_rt_${name}_us`, 'utf8')),
    );
    return runtime === undefined || period === undefined ? null : runtime / period;
  } catch {
    return null;
  }
}

/**
 * A real-time thread that wakes waits for so long behind those that compute: at the kernel's 100 ms nothing travels while both
 * tabs compute, which no user's scheduler does to them: `sysctl kernel.sched_rr_timeslice_ms=1` for as long as is measured.
 */
function realTimeSliceMs(): number | null {
  try {
    return Number(readFileSync('/proc/sys/kernel/sched_rr_timeslice_ms', 'utf8'));
  } catch {
    return null;
  }
}

export function loadAverage(): readonly number[] {
  return loadavg().map((one) => Number(one.toFixed(2)));
}

export function describeCommit(): { readonly commit: string; readonly changed: boolean } {
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const changed = git('status', '--porcelain', '--untracked-files=no') !== '';
  return { commit: git('rev-parse', '--short', 'HEAD'), changed };
}
