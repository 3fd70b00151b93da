/** How much memory a process takes at most while something runs, as Linux counts it (proc(5)); null elsewhere. */
import { readFileSync, writeFileSync } from 'node:fs';

function kilobytes(pid: number | 'self', field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN);
}

/**
 * From the call on; what it returns gives the largest resident size since then, less the size at the call, in bytes.
 */
export function watchPeak(pid: number | 'self'): () => number | null {
  if (process.platform !== 'linux') return () => null;
  // 5 sets the high-water mark back to the present size.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const before = kilobytes(pid, 'VmRSS');
  return () => (kilobytes(pid, 'VmHWM') - before) * 1024;
}
