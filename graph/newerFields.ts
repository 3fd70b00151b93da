/**
 * Fields of ONNX's messages that are younger than the generated library (ONNX 1.10) and that a model cannot be read
 * without. The library skips what it does not know; here its bytes are gone through once more for those fields.
 */
import protobuf from 'protobufjs/minimal.js';

type Reader = InstanceType<typeof protobuf.Reader>;

interface Decoder<Message> {
  decode(source: Reader | Uint8Array, length?: number): Message;
}

/** Field number -> what reads one value of it into the message. */
export type FieldReaders<Message> = Readonly<Record<number, (message: Message, reader: Reader) => void>>;

/** From now on `type` decodes these fields too, wherever its messages occur within others. */
export function decodeNewerFields<Message>(type: Decoder<Message>, fields: FieldReaders<Message>): void {
  const decode = type.decode.bind(type);
  type.decode = (source, length) => {
    const reader = source instanceof protobuf.Reader ? source : protobuf.Reader.create(source);
    const start = reader.pos;
    const message = decode(reader, length);
    const end = reader.pos;
    reader.pos = start;
    while (reader.pos < end) {
      const tag = reader.uint32();
      const read = fields[tag >>> 3];
      if (read === undefined) reader.skipType(tag & 7);
      else read(message, reader);
    }
    return message;
  };
}
