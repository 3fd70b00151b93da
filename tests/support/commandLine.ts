/** The `starling` command as a person at a terminal that shows no progress has it: for tests. */
import { runCommandLine } from '../../cli/runCommandLine.ts';

export interface CommandResult {
  readonly code: number;
  /** Lines that it printed, joined. */
  readonly out: string;
  /** What it wrote to standard error. */
  readonly err: string;
}

export async function starling(...args: string[]): Promise<CommandResult> {
  const out: string[] = [];
  const err: string[] = [];
  const code = await runCommandLine(args, {
    print: (line) => out.push(line),
    stderr: { isTTY: false, columns: 80, write: (text: string) => err.push(text) > 0 },
  });
  return { code, out: out.join('\n'), err: err.join('') };
}
