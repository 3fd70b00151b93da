/** A small typed emitter: listeners by the `type` of a discriminated union. */

export class Emitter<Event extends { readonly type: string }> {
  readonly #listeners = new Map<string, Set<(event: Event) => void>>();

  /** Returns what ends the subscription. */
  on<Type extends Event['type']>(
    type: Type,
    listener: (event: Extract<Event, { readonly type: Type }>) => void,
  ): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners);
    // Only events of that type reach it.
    const own = (event: Event) => listener(event as Extract<Event, { readonly type: Type }>);
    listeners.add(own);
    return () => listeners.delete(own);
  }

  emit(event: Event): void {
    for (const listener of [...(this.#listeners.get(event.type) ?? [])]) {
      try {
        listener(event);
      } catch (thrown) {
        // A listener's mistake is its own: it must not stop a run.
        reportError(thrown);
      }
    }
  }
}
