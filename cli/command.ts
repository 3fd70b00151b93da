/** What a command of `starling` is, and how it reads its arguments. Holds no command. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { StarlingError } from '../protocol/errors.ts';

/** The part of a terminal's stream that commands use. */
export type TextStream = Pick<NodeJS.WriteStream, 'isTTY' | 'columns'> & { write(text: string): boolean };

/** What a command may use of the process, passed in so that a test can give its own. */
export interface Terminal {
  /** The command's result; one call is one line. */
  print(line: string): void;
  /** Notes and progress, never the result. */
  readonly stderr: TextStream;
}

/** What follows an option, if anything, and what it is for: of every option, in the order of a manual. */
export type OptionHelp<Name extends string = string> = {
  readonly [Option in Name]: readonly [value: string, meaning: string];
};

export interface Command {
  /** As typed: `import-tfjs`. */
  readonly name: string;
  /** One line for the list of `starling help`. */
  readonly summary: string;
  /** Arguments and options after the name: `MODEL_JSON --out FILE`. */
  readonly usage: string;
  /** Where they are too many for `usage`. */
  readonly options?: OptionHelp;
  /** Resolves to the exit code. Throws StarlingError; USAGE where the arguments are wrong. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

type Options = NonNullable<ParseArgsConfig['options']>;
type Parsed<O extends Options> = ReturnType<
  typeof parseArgs<{ options: O; allowPositionals: true; strict: true }>
>;

/**
 * The options of a command and exactly as many other arguments as `positionals` names. Throws StarlingError USAGE.
 */
export function parseArguments<const O extends Options>(
  args: readonly string[],
  options: O,
  positionals: readonly string[],
): Parsed<O> {
  const parsed = parse(args, options);
  if (parsed.positionals.length !== positionals.length) {
    const missing = positionals[parsed.positionals.length];
    throw new StarlingError(
      'USAGE',
      missing === undefined
        ? `One argument too many: ${parsed.positionals[positionals.length]}.`
        : `${missing} is missing.`,
    );
  }
  return parsed;
}

function parse<const O extends Options>(args: readonly string[], options: O): Parsed<O> {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (thrown) {
    throw StarlingError.from(thrown, 'USAGE');
  }
}

/** An option that must be given. Throws StarlingError USAGE. */
export function required<T>(value: T | undefined, option: string): T {
  if (value === undefined) throw new StarlingError('USAGE', `${option} is missing.`);
  return value;
}
