/** The process behind `npm start`: arguments in, sentences and exit codes out. What it starts is serve.ts. */
import process from 'node:process';
import { StarlingError } from '../protocol/errors.ts';
import { serve } from './serve.ts';

try {
  const server = await serve(process.argv.slice(2), (text) => process.stdout.write(text));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void server?.close().then(() => process.exit(0)));
  }
} catch (thrown) {
  const { code, message } = StarlingError.from(thrown, 'INTERNAL');
  process.stderr.write(`${code}: ${message}\n`);
  process.exitCode = code === 'USAGE' ? 2 : 1;
}
