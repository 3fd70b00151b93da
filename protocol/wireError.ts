/** How a result or an error crosses a Worker boundary: comlink alone keeps an error's message but not its code. */
import { type ErrorCode, errorCodes, StarlingError } from './errors.ts';

export type WireResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: { readonly code: ErrorCode; readonly message: string } };

/** Runs a call and packs what it gives or throws. */
export async function packResult<T>(call: () => Promise<T> | T): Promise<WireResult<T>> {
  try {
    return { ok: true, value: await call() };
  } catch (thrown) {
    return { ok: false, error: StarlingError.from(thrown, 'INTERNAL').toJSON() };
  }
}

/** The value, or the error thrown again as a StarlingError. */
export function unpackResult<T>(result: WireResult<T>): T {
  if (result.ok) return result.value;
  const { code, message } = result.error;
  throw new StarlingError(errorCodes.includes(code) ? code : 'INTERNAL', message);
}

/** An object whose methods give packed results. */
export type Packed<Api> = {
  readonly [Name in keyof Api]: Api[Name] extends (...args: infer Arguments) => Promise<infer Value>
    ? (...args: Arguments) => Promise<WireResult<Value>>
    : never;
};
