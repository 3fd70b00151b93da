/**
 * The level of a value counts the exchanged values on the longest way to it, whether
 * or not a device has to wait for any of them: so it is the same on every device, none waits for another that waits
 * for it, and all advance exchange by exchange instead of taking turns.
 */
import type { RoomGraph } from './roomGraph.ts';

export class Levels {
  readonly #made = new Map<string, number>();
  readonly #exchanged: ReadonlySet<string>;

  /** `exchanged`: values of which some device sends something to another. */
  constructor(room: RoomGraph, exchanged: ReadonlySet<string>) {
    this.#exchanged = exchanged;
    for (const { node, inputs } of room.facts) {
      const level = Math.max(0, ...inputs.map((input) => this.read(input)));
      for (const output of node.outputs) this.#made.set(output, level);
    }
  }

  /** Level at which parts of a value are made. */
  made(value: string): number {
    return this.#made.get(value) ?? 0;
  }

  /** Level at which others may read it: after the exchange, where there is one. */
  read(value: string): number {
    return this.made(value) + (this.#exchanged.has(value) ? 1 : 0);
  }
}
