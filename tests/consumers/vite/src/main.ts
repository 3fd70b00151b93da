/** Another application that uses the package, with Vite and nothing configured: both entries, typed. */
import { joinRoom, type Session, StarlingError } from 'starling-inference';
import 'starling-inference/element';

const address = new URL(location.href).searchParams;

async function run(): Promise<string> {
  const room = await joinRoom({ signaling: address.get('signaling') ?? '', room: 'consumer', threads: 2 });
  const session: Session = await room.load(address.get('plan') ?? '');
  const [input] = session.inputs;
  if (input === undefined) throw new StarlingError('INPUT_INVALID', 'The plan has no input.');
  const data = new Float32Array(input.shape.reduce((product, dim) => product * dim, 1)).fill(0.5);
  const outputs = await session.run({ [input.name]: { data, dims: input.shape } });
  const element = document.createElement('starling-session');
  const [large] = Object.values(outputs);
  await room.leave();
  return `${large?.type} ${large?.dims.join('x')} ${element.state} ${room.backend.threads}`;
}

run().then(
  (text) => {
    document.title = text;
  },
  (error: unknown) => {
    document.title = String(error);
  },
);
