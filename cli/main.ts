#!/usr/bin/env node
/** The process of the `starling` command: its arguments in, its exit code out. */
import { runCommandLine } from './runCommandLine.ts';

process.exitCode = await runCommandLine(process.argv.slice(2), {
  print: (line) => process.stdout.write(`${line}\n`),
  stderr: process.stderr,
});
