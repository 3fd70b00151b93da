/**
 * From text of somebody else to a typed message: size, JSON, schema, in this order.
 * The only error that leaves is a StarlingError; which messages exist is said in signaling.ts and control.ts.
 */
import * as v from 'valibot';
import { StarlingError } from './errors.ts';

type Schema<T> = v.GenericSchema<unknown, T>;

const encoder = new TextEncoder();

/** UTF-8 bytes of a message; nothing is encoded where its length alone is over the limit. */
export function messageBytes(text: string, limit: number): number {
  return text.length > limit ? text.length : encoder.encode(text).length;
}

/**
 * @param text one whole message
 * @param limitBytes largest message that is looked at
 * @throws StarlingError MESSAGE_TOO_LARGE, MESSAGE_INVALID
 */
export function parseJson(text: string, limitBytes: number): unknown {
  const bytes = messageBytes(text, limitBytes);
  if (bytes > limitBytes) {
    throw new StarlingError(
      'MESSAGE_TOO_LARGE',
      `A message may be ${limitBytes} bytes long, but one of at least ${bytes} bytes came.`,
    );
  }
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new StarlingError('MESSAGE_INVALID', 'A message must be JSON, but this one is not.', {
      cause: thrown,
    });
  }
}

/**
 * @param what names the message in the error, as in `A control message`
 * @throws StarlingError MESSAGE_INVALID, with the path of the first value that is off
 */
export function parseWith<T>(schema: Schema<T>, value: unknown, what: string): T {
  const result = v.safeParse(schema, value, { abortEarly: true });
  if (result.success) return result.output;
  const issue = result.issues[0];
  const path = v.getDotPath(issue);
  throw new StarlingError(
    'MESSAGE_INVALID',
    `${what} is not as the protocol says${path === null ? '' : ` at "${path}"`}: ${issue.message.slice(0, 200)}.`,
  );
}
