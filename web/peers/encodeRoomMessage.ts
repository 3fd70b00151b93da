/** A message of the rooms above as the text that the connection to another page carries. */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import { messageBytes } from '../../protocol/parseJson.ts';

/** @throws StarlingError MESSAGE_TOO_LARGE */
export function encodeRoomMessage(message: object): string {
  const text = JSON.stringify({ type: 'room', message });
  const bytes = messageBytes(text, limits.controlMessageBytes);
  if (bytes <= limits.controlMessageBytes) return text;
  throw new StarlingError(
    'MESSAGE_TOO_LARGE',
    `A message to another device may be ${limits.controlMessageBytes} bytes long, but one of at least ${bytes} bytes was to be sent.`,
  );
}
