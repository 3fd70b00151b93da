/** Every command of `starling`, in the order in which `starling help` lists them. A new command is one line here. */
import type { Command } from './command.ts';
import { importTfjs } from './commands/importTfjs.ts';

export const commands: readonly Command[] = [importTfjs];
