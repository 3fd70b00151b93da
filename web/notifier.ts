/** Tells of the newest state once for all changes of one task, and only where it differs from the last that was told. */

export interface NotifierOptions<State> {
  readonly read: () => State;
  readonly tell: (state: State) => void;
}

export class Notifier<State> {
  readonly #options: NotifierOptions<State>;
  #told = '';
  #due = false;
  #closed = false;

  constructor(options: NotifierOptions<State>) {
    this.#options = options;
  }

  /** Something may have changed. */
  notify(): void {
    if (this.#due || this.#closed) return;
    this.#due = true;
    queueMicrotask(() => {
      this.#due = false;
      if (this.#closed) return;
      const state = this.#options.read();
      const text = JSON.stringify(state);
      if (text === this.#told) return;
      this.#told = text;
      this.#options.tell(state);
    });
  }

  close(): void {
    this.#closed = true;
  }
}
