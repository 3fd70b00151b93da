/**
 * A room without browsers for tests: coordinators with ports whose network, Workers and clock are driven by hand.
 * Messages arrive in order on each link, at the moment the test says; a Worker answers when the test says.
 */
import { StarlingError } from '../../../protocol/errors.ts';
import type { Placement, RoomMessage } from '../../../protocol/roomMessages.ts';
import type { PlacementMessage } from '../../../workers/api.ts';
import { Coordinator, type RunEvent } from '../coordinator.ts';
import type { DeviceChoice } from '../placer.ts';
import { SimulatedClock } from './simulatedClock.ts';
import { type Call, SimulatedDevice } from './simulatedDevice.ts';

export class SimulatedRoom {
  readonly clock = new SimulatedClock();
  readonly coordinators = new Map<string, Coordinator>();
  readonly devices = new Map<string, SimulatedDevice>();
  readonly runEvents: { readonly id: string; readonly event: RunEvent }[] = [];
  readonly #links = new Map<string, RoomMessage[]>();
  readonly #choice: DeviceChoice;

  constructor(devices: DeviceChoice = 'all') {
    this.#choice = devices;
  }

  /** A page that is not connected to anybody yet. */
  add(id: string): Coordinator {
    const device = new SimulatedDevice((placement) => this.#isWhole(placement));
    const coordinator = new Coordinator({
      self: id,
      device,
      clock: this.clock,
      devices: this.#choice,
      send: (to, message) => this.#links.get(`${id} ${to}`)?.push(structuredClone(message)),
      planAddresses: (plan: Placement['plan']) => ['url' in plan ? plan.url : plan.sha256],
      describePlan: (url) => ({ url, sameOrigin: false }),
      onChange: () => undefined,
      onRun: (event) => this.runEvents.push({ id, event }),
    });
    this.coordinators.set(id, coordinator);
    this.devices.set(id, device);
    return coordinator;
  }

  connect(a: string, b: string): void {
    if (this.#links.has(`${a} ${b}`) || !this.coordinators.has(a) || !this.coordinators.has(b) || a === b)
      return;
    this.#links.set(`${a} ${b}`, []);
    this.#links.set(`${b} ${a}`, []);
    this.coordinators.get(a)?.peerConnected(b);
    this.coordinators.get(b)?.peerConnected(a);
  }

  disconnect(a: string, b: string): void {
    if (!this.#links.delete(`${a} ${b}`)) return;
    this.#links.delete(`${b} ${a}`);
    this.coordinators.get(a)?.peerLost(b);
    this.coordinators.get(b)?.peerLost(a);
  }

  connectAll(): void {
    const ids = [...this.coordinators.keys()];
    for (const a of ids) for (const b of ids) if (a < b) this.connect(a, b);
  }

  /** The page is closed: its calls reject, the others notice. */
  remove(id: string): void {
    this.coordinators.get(id)?.close(new StarlingError('RUN_ABORTED', 'The page left the room.'));
    for (const other of this.coordinators.keys()) this.disconnect(id, other);
    this.coordinators.delete(id);
    this.devices.delete(id);
  }

  /** Delivers one message from `a` to `b`, if one is under way. */
  deliver(a: string, b: string): boolean {
    const message = this.#links.get(`${a} ${b}`)?.shift();
    if (message === undefined) return false;
    this.coordinators.get(b)?.receive(a, message);
    return true;
  }

  pending(): Call[] {
    return [...this.devices.values()].flatMap(({ calls }) => calls);
  }

  /** Everything under way arrives, every Worker succeeds, time passes, until nothing happens any more. */
  async settle(options: { readonly runs?: boolean } = {}): Promise<void> {
    let rounds = 0;
    for (let quiet = 0; quiet < 4; ) {
      if (rounds++ > 2000) throw new Error('The room does not come to rest.');
      await ticks();
      let moved = false;
      for (const key of [...this.#links.keys()]) {
        const [a = '', b = ''] = key.split(' ');
        for (let n = 0; n < 100 && this.deliver(a, b); n++) moved = true;
      }
      for (const call of this.pending()) {
        if (call.kind === 'run' && options.runs === false) continue;
        call.finish();
        moved = true;
      }
      if (!moved) this.clock.advance(quiet === 3 ? 200_000 : 5_000);
      quiet = moved ? 0 : quiet + 1;
    }
  }

  #isWhole(placement: PlacementMessage): boolean {
    return placement.devices.every(
      (id) =>
        this.devices.get(id)?.loaded?.epoch === placement.epoch &&
        placement.devices.every((other) => other === id || this.#links.has(`${id} ${other}`)),
    );
  }
}

/** Long enough for every promise that can go on to have done so. */
export async function ticks(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}
