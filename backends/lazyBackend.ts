/**
 * A backend that starts when the first session is made: an engine takes a hundred megabytes and a second of a page that
 * may never need it. What is uploaded before waits outside.
 */
import type { Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend, Session, TensorHandle } from '../runtime/backend.ts';
import { uploadableType } from './uploadableType.ts';

/** A tensor that is taken into the engine when a session first asks for it. */
class WaitingTensor implements TensorHandle {
  readonly dataType: Tensor['dataType'];
  readonly dims: readonly number[];
  readonly #tensor: Tensor;
  #handle: TensorHandle | undefined;
  #released = false;

  constructor(tensor: Tensor) {
    this.#tensor = { ...tensor, data: tensor.data.slice() };
    this.dataType = tensor.dataType;
    this.dims = tensor.dims;
  }

  handleIn(backend: Backend): TensorHandle {
    this.#assertHeld();
    this.#handle ??= backend.upload(this.#tensor);
    return this.#handle;
  }

  peek(): undefined {
    this.#assertHeld();
  }

  read(): Tensor {
    this.#assertHeld();
    return { ...this.#tensor, data: this.#tensor.data.slice() };
  }

  release(): void {
    this.#assertHeld();
    this.#released = true;
    this.#handle?.release();
  }

  #assertHeld(): void {
    if (this.#released) throw new StarlingError('INTERNAL', 'A tensor handle was used after its release.');
  }
}

/** `start` is called once; where it fails, whatever needs the engine rejects with its reason. */
export function lazyBackend(name: string, start: () => Promise<Backend>): Backend {
  let starting: Promise<Backend> | undefined;
  const started = () => {
    starting ??= start();
    return starting;
  };
  return {
    name,
    upload(tensor) {
      uploadableType(tensor);
      return new WaitingTensor(tensor);
    },
    async createSession(model, externalData) {
      const backend = await started();
      const session = await backend.createSession(model, externalData);
      return {
        inputNames: session.inputNames,
        outputNames: session.outputNames,
        run: async (inputs) =>
          session.run(
            new Map(
              [...inputs].map(([key, handle]) => [
                key,
                handle instanceof WaitingTensor ? handle.handleIn(backend) : handle,
              ]),
            ),
          ),
        release: () => session.release(),
      } satisfies Session;
    },
  };
}
