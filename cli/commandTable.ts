/** Every command of `starling`, in the order in which `starling help` lists them. A new command is one line here. */
import type { Command } from './command.ts';
import { compile } from './commands/compile.ts';
import { evalCommand } from './commands/eval.ts';
import { importTfjs } from './commands/importTfjs.ts';
import { inspect } from './commands/inspect.ts';
import { lower } from './commands/lower.ts';
import { train } from './commands/train.ts';
import { verify } from './commands/verify.ts';

export const commands: readonly Command[] = [importTfjs, compile, inspect, lower, verify, evalCommand, train];
