/** What this device's links cost, measured when a peer connects and again when a load is done; the better counts. */
import type { LinkCost } from '../../runtime/predict/costModel.ts';
import type { DeviceApi } from '../../workers/api.ts';

export interface LinkCostsOptions {
  readonly device: Pick<DeviceApi, 'measureLink'>;
  onChange(): void;
}

export class LinkCosts {
  readonly #options: LinkCostsOptions;
  /** Null where measuring has failed. */
  readonly #costs = new Map<string, LinkCost | null>();
  readonly #measuring = new Set<string>();

  constructor(options: LinkCostsOptions) {
    this.#options = options;
  }

  /** Whether it is known what the link costs, or that it cannot be known. */
  isKnown(id: string): boolean {
    return this.#costs.has(id);
  }

  get(id: string): LinkCost | undefined {
    return this.#costs.get(id) ?? undefined;
  }

  /** For the others, rounded: a status is sent again only where it says something new. */
  list(): { readonly id: string; readonly roundTripMs: number; readonly bytesPerMs: number }[] {
    return [...this.#costs].flatMap(([id, cost]) =>
      cost === null
        ? []
        : [{ id, roundTripMs: rounded(cost.roundTripMs), bytesPerMs: rounded(cost.bytesPerMs) }],
    );
  }

  measure(id: string): void {
    if (this.#measuring.has(id)) return;
    this.#measuring.add(id);
    this.#options.device.measureLink(id).then(
      (cost) => this.#note(id, cost),
      () => this.#note(id, null),
    );
  }

  measureAgain(): void {
    for (const id of this.#costs.keys()) this.measure(id);
  }

  forget(id: string): void {
    this.#costs.delete(id);
    this.#measuring.delete(id);
  }

  #note(id: string, cost: LinkCost | null): void {
    if (!this.#measuring.delete(id)) return;
    const known = this.#costs.get(id) ?? null;
    this.#costs.set(id, cost !== null && known !== null ? better(cost, known) : (cost ?? known));
    this.#options.onChange();
  }
}

/** Whatever else a Worker does can only make its links look slower. */
function better(a: LinkCost, b: LinkCost): LinkCost {
  return {
    roundTripMs: Math.min(a.roundTripMs, b.roundTripMs),
    bytesPerMs: Math.max(a.bytesPerMs, b.bytesPerMs),
    messageMs: a.messageMs,
  };
}

function rounded(value: number): number {
  return Number(value.toPrecision(2));
}
