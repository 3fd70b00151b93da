/** The tensors of one run on one device, each released as soon as its last reader is done. */
import type { TensorHandle } from './backend.ts';

export class ValueStore {
  readonly #handles = new Map<string, TensorHandle>();
  readonly #readers: Map<string, number>;

  /** `readers`: how often each name will be read. */
  constructor(readers: ReadonlyMap<string, number>) {
    this.#readers = new Map(readers);
  }

  has(name: string): boolean {
    return this.#handles.has(name);
  }

  put(name: string, handle: TensorHandle): void {
    if (this.#handles.has(name) || (this.#readers.get(name) ?? 0) === 0) handle.release();
    else this.#handles.set(name, handle);
  }

  get(name: string): TensorHandle | undefined {
    return this.#handles.get(name);
  }

  /** One reader is done; the last one frees the tensor. */
  done(name: string): void {
    const left = (this.#readers.get(name) ?? 1) - 1;
    this.#readers.set(name, left);
    if (left > 0) return;
    this.#handles.get(name)?.release();
    this.#handles.delete(name);
  }

  clear(): void {
    for (const handle of this.#handles.values()) handle.release();
    this.#handles.clear();
  }
}
