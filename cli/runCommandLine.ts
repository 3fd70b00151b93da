/** The command line: finds the command, turns errors into lines and exit codes. Runs no process of its own: main.ts does. */
import { StarlingError } from '../protocol/errors.ts';
import type { Command, OptionHelp, Terminal } from './command.ts';
import { commands } from './commandTable.ts';

/** Columns before what an option means. */
const manualIndent = 32;

/**
 * Exit code: 0 done, 1 the command failed, 2 the arguments are wrong. An error is one line `CODE: message`; its stack
 * is printed with `--debug` only.
 */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const debug = args.includes('--debug');
  const [name, ...rest] = args.filter((arg) => arg !== '--debug');
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) return help(name, rest, terminal);
  if (rest.includes('--help')) {
    terminal.print(manual(command));
    return 0;
  }
  try {
    return await command.run(rest, terminal);
  } catch (thrown) {
    const error = StarlingError.from(thrown, 'INTERNAL');
    terminal.stderr.write(`${error.code}: ${error.message}\n`);
    if (error.code === 'USAGE') terminal.stderr.write(`${usageLine(command)}\n${hint(command)}`);
    if (debug)
      terminal.stderr.write(
        `${error.stack}\n${error.cause instanceof Error ? `${error.cause.stack}\n` : ''}`,
      );
    return error.code === 'USAGE' ? 2 : 1;
  }
}

function help(name: string | undefined, rest: readonly string[], terminal: Terminal): number {
  const asked = name === 'help' || name === '--help' || name === '-h';
  const topic = commands.find((command) => command.name === rest[0]);
  if (asked && topic !== undefined) {
    terminal.print(manual(topic));
    return 0;
  }
  if (asked && rest.length === 0) {
    terminal.print(overview());
    return 0;
  }
  const unknown = asked ? rest[0] : name;
  terminal.stderr.write(
    unknown === undefined ? `${overview()}\n` : `USAGE: There is no command ${unknown}.\n${overview()}\n`,
  );
  return 2;
}

function usageLine(command: Command): string {
  return `usage: starling ${command.name} ${command.usage}`;
}

/** Where a person who mistook an option finds them all. */
function hint({ name, options }: Command): string {
  return options === undefined ? '' : `starling help ${name} lists the options.\n`;
}

function manual(command: Command): string {
  return [usageLine(command), command.summary, ...optionLines(command.options ?? {})].join('\n');
}

function optionLines(options: OptionHelp): string[] {
  const lines = Object.entries(options).map(([name, [value, meaning]]) => {
    const option = `  --${name} ${value}`.trimEnd();
    return option.length < manualIndent
      ? `${option.padEnd(manualIndent)}${meaning}`
      : `${option}\n${' '.repeat(manualIndent)}${meaning}`;
  });
  return lines.length === 0 ? [] : ['', ...lines];
}

function overview(): string {
  const width = Math.max(...commands.map((command) => command.name.length), 'help'.length);
  return [
    'usage: starling COMMAND [ARGUMENTS] [--debug]',
    ...commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}`),
    `  ${'help'.padEnd(width)}  Show this list, or with a command's name how it is used.`,
  ].join('\n');
}
