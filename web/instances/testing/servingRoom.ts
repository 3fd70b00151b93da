/** A room whose devices serve batches on a virtual clock, are lost, refuse and are full when told. */
import { float32Tensor } from '../../../graph/tensor.ts';
import { StarlingError } from '../../../protocol/errors.ts';
import type { RunInputs } from '../../coordinator/runQueue.ts';
import { planOf } from '../../coordinator/testing/simulatedDevice.ts';
import type { Candidate, Shares } from '../../placement.ts';
import { VirtualClock } from '../../scaler/testing/virtualClock.ts';
import { DeviceRefusal, type Instance } from '../hostedInstance.ts';
import { holders } from '../placeInstance.ts';
import { ScaledRuns, type ScalerWishes } from '../scaledRuns.ts';

/** Devices b, c, d beside a; a batch takes its time, gives back its inputs, and is lost with any of its devices. */
export class ServingRoom {
  readonly plan = { ...planOf('echo'), maxBatch: 8 };
  readonly clock = new VirtualClock();
  readonly there = new Set(['b', 'c', 'd']);
  readonly instances = new Set<{ lose(): void } & Shares>();
  readonly batches: { readonly items: number; readonly inFlight: number }[] = [];
  /** The next instances cannot be made. */
  refusals = 0;
  /** Of each device, in shards of this plan; a part without shards takes half of one. */
  memory: Readonly<Record<string, number>> = {};
  #inFlight = 0;

  candidates(): Candidate[] {
    const ids = [...this.there];
    return ids.map((id) => ({ id, links: ['a', ...ids.filter((other) => other !== id)], mayStop: false }));
  }

  async open(
    placement: Pick<Instance['placement'], 'devices' | 'shards'>,
    threads: number,
  ): Promise<Instance> {
    await new Promise<void>((resolve) => this.clock.after(40, resolve));
    if (this.refusals-- > 0) throw new StarlingError('SESSION_FAILED', 'No memory for one more.');
    const full = placement.devices.find(
      (id) => this.#held(id) + takes(placement, id) > (this.memory[id] ?? 99),
    );
    if (full !== undefined)
      throw new DeviceRefusal(full, new StarlingError('MEMORY_LIMIT', `Device ${full} is full.`));
    const pending = new Set<(error: StarlingError) => void>();
    const listeners: (() => void)[] = [];
    let lost: StarlingError | null = null;
    const lose = () => {
      if (lost !== null) return;
      lost = new StarlingError('PEER_LOST', 'A device left.');
      this.instances.delete(entry);
      for (const fail of [...pending]) fail(lost);
      for (const listener of listeners) listener();
    };
    const entry = { lose, ...placement };
    this.instances.add(entry);
    return {
      placement,
      threads,
      get lost() {
        return lost;
      },
      run: (inputs, signal) => this.#serve(inputs, signal, pending, holders(placement).length),
      onLost: (listener) => listeners.push(listener),
      close: lose,
    };
  }

  #held(id: string): number {
    return [...this.instances].reduce((sum, instance) => sum + takes(instance, id), 0);
  }

  leave(id: string): void {
    this.there.delete(id);
    for (const { devices, lose } of [...this.instances]) if (devices.includes(id)) lose();
  }

  /** Twice the devices take half the time. */
  async #serve(
    inputs: RunInputs,
    signal: AbortSignal,
    pending: Set<(error: StarlingError) => void>,
    devices = 1,
  ) {
    const items = inputs['x']?.dims[0] ?? 0;
    this.#inFlight++;
    this.batches.push({ items, inFlight: this.#inFlight });
    try {
      await new Promise<void>((resolve, reject) => {
        const cancel = this.clock.after((10 + items) / devices, () => {
          pending.delete(fail);
          resolve();
        });
        const fail = (error: StarlingError) => {
          cancel();
          pending.delete(fail);
          reject(error);
        };
        pending.add(fail);
        signal.addEventListener('abort', () => fail(new StarlingError('RUN_ABORTED', 'Called off.')));
      });
    } finally {
      this.#inFlight--;
    }
    const stats = {
      totalMs: 10,
      computeMs: 8,
      waitMs: 2,
      sentBytes: 0,
      receivedBytes: 0,
      rounds: 0,
      heapBytes: 0,
    };
    return { outputs: { y: inputs['x'] ?? float32Tensor([0], []) }, stats };
  }

  scaled(wishes: ScalerWishes): ScaledRuns {
    return new ScaledRuns({
      self: 'a',
      clock: this.clock,
      plan: this.plan,
      url: 'https://example.org/plan.json',
      place: { from: 'a' },
      threads: [1],
      wishes,
      instances: { open: ({ devices, shards, threads }) => this.open({ devices, shards }, threads) },
      candidates: () => this.candidates(),
      runOnRoom: async (inputs, signal) => ({
        ...(await this.#serve(inputs, signal, new Set())),
        restarts: 0,
        devices: 1,
      }),
    });
  }
}

function takes({ devices, shards }: Shares, id: string): number {
  const index = devices.indexOf(id);
  return index < 0 ? 0 : Math.max(0.5, shards[index]?.length ?? 0);
}
