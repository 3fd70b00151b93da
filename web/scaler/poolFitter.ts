/** Brings a pool to the instances that are wanted, one change at a time; what was wanted in between is skipped. */
import { StarlingError } from '../../protocol/errors.ts';
import type { InstancePool } from './instancePool.ts';
import { type Setting, sameSetting } from './setting.ts';

type Wanted = Pick<Setting, 'instances' | 'threads'>;

export class PoolFitter {
  readonly #pool: Pick<InstancePool<never, unknown>, 'resize'>;
  readonly #onFitted: (failure: StarlingError | null) => void;
  #wanted: Wanted | null = null;
  #fitted: Wanted | null = null;
  #busy = false;

  /** `onFitted` is called when what is wanted is there, or cannot be had, and why. */
  constructor(
    pool: Pick<InstancePool<never, unknown>, 'resize'>,
    onFitted: (failure: StarlingError | null) => void,
  ) {
    this.#pool = pool;
    this.#onFitted = onFitted;
  }

  /** What is wanted is not there yet. */
  get busy(): boolean {
    return this.#busy;
  }

  fit({ instances, threads }: Wanted): void {
    this.#wanted = { instances, threads };
    if (!this.#busy && !same(this.#wanted, this.#fitted)) void this.#resize();
  }

  /** The pool changed by itself: the next `fit` asks it again. */
  forget(): void {
    this.#fitted = null;
  }

  async #resize(): Promise<void> {
    this.#busy = true;
    // Later, so that nothing is called back before whoever made this is complete.
    await null;
    let failure: StarlingError | null = null;
    while (this.#wanted !== null && !same(this.#wanted, this.#fitted)) {
      const { instances, threads } = this.#wanted;
      this.#fitted = this.#wanted;
      try {
        await this.#pool.resize(instances, threads);
        failure = null;
      } catch (thrown) {
        failure = StarlingError.from(thrown, 'INTERNAL');
      }
    }
    this.#busy = false;
    this.#onFitted(failure);
  }
}

function same(a: Wanted, b: Wanted | null): boolean {
  return b !== null && sameSetting({ batch: 1, ...a }, { batch: 1, ...b });
}
