/**
 * A room without browsers for tests: coordinators with ports whose network, Workers and clock are driven by hand.
 * Messages arrive in order on each link, at the moment the test says; a Worker answers when the test says.
 */
import { StarlingError } from '../../../protocol/errors.ts';
import type { Placement, RoomMessage } from '../../../protocol/roomMessages.ts';
import { localLink } from '../../../runtime/predict/costModel.ts';
import type {
  ForecastQuestion,
  LoadReport,
  PlacementMessage,
  PlanForecast,
  PlanSummary,
  RunResult,
} from '../../../workers/api.ts';
import { type CoordinatedDevice, Coordinator, type RunEvent } from '../coordinator.ts';
import type { DeviceChoice } from '../placer.ts';

interface Call {
  readonly kind: 'openPlan' | 'load' | 'run' | 'forecast';
  readonly what: string;
  finish(error?: StarlingError): void;
}

class SimulatedClock {
  #now = 0;
  readonly #timers = new Set<{ at: number; action: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, action: () => void): () => void {
    const timer = { at: this.#now + ms, action };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Lets time pass; what falls due is called in order. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (let n = 0; ; n++) {
      if (n > 10_000) throw new Error('Timers set each other without end.');
      const next = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = end;
  }
}

export const planOf = (url: string, numShards = 4): PlanSummary => ({
  name: url,
  sourceSha256: '0'.repeat(64),
  sha256: [...url]
    .map((c) => c.charCodeAt(0).toString(16).padStart(2, '0'))
    .join('')
    .padEnd(64, '0')
    .slice(0, 64),
  numShards,
  maxBatch: 1,
  inputs: [],
  outputs: [],
  weightBytes: 0,
  macs: 0,
  keptRatio: 1,
  classes: [],
  measured: null,
  metadata: {},
});

/** A Worker that answers when told; it refuses to be asked two things about its plan at once. */
class SimulatedDevice implements CoordinatedDevice {
  readonly calls: Call[] = [];
  loaded: PlacementMessage | null = null;
  /** The placement with which the last run was started. */
  openUrl: string | null = null;
  /** What its Worker measures while it loads. */
  speed: number | null = null;
  readonly questions: ForecastQuestion[] = [];
  /** Its Worker's predictions. */
  predict: (question: ForecastQuestion) => readonly PlanForecast[] = () => [];
  /** What a run takes. */
  runMs = 1;
  readonly #runs = new Map<number, (error: StarlingError) => void>();
  readonly #isReachable: (placement: PlacementMessage) => boolean;

  constructor(isReachable: (placement: PlacementMessage) => boolean) {
    this.#isReachable = isReachable;
  }

  openPlan({ url }: { readonly url: string }): Promise<PlanSummary> {
    return this.#call('openPlan', url, () => {
      this.openUrl = url;
      return planOf(url);
    });
  }

  load(placement: PlacementMessage): Promise<LoadReport> {
    return this.#call('load', `epoch ${placement.epoch}`, () => {
      this.loaded = placement;
      return { speed: this.speed, heapBytes: null };
    });
  }

  measureLink(): Promise<typeof localLink> {
    return Promise.resolve(localLink);
  }

  forecast(question: ForecastQuestion): Promise<readonly PlanForecast[]> {
    this.questions.push(question);
    return this.#call('forecast', question.devices.map(({ id }) => id).join(), () => this.predict(question));
  }

  run(runId: number): Promise<RunResult> {
    const placement = this.loaded;
    return new Promise((resolve, reject) => {
      const settle = (action: () => void) => {
        if (!this.#runs.delete(runId)) return;
        this.calls.splice(this.calls.indexOf(call), 1);
        action();
      };
      this.#runs.set(runId, (error) => settle(() => reject(error)));
      const call: Call = {
        kind: 'run',
        what: `run ${runId}`,
        finish: (error) =>
          settle(() => {
            if (error !== undefined) reject(error);
            else if (placement === null || !this.#isReachable(placement)) {
              reject(new StarlingError('PEER_LOST', 'A device is gone.'));
            } else resolve({ outputs: {}, stats: { ...noStats, totalMs: this.runMs } });
          }),
      };
      this.calls.push(call);
    });
  }

  abort(runId: number): Promise<void> {
    this.#runs.get(runId)?.(new StarlingError('RUN_ABORTED', 'The run was aborted.'));
    return Promise.resolve();
  }

  #call<T>(kind: 'openPlan' | 'load' | 'forecast', what: string, result: () => T): Promise<T> {
    if (this.calls.some((call) => call.kind === kind)) throw new Error(`two calls of ${kind} at once`);
    return new Promise((resolve, reject) => {
      const call: Call = {
        kind,
        what,
        finish: (error) => {
          const at = this.calls.indexOf(call);
          if (at < 0) return;
          this.calls.splice(at, 1);
          try {
            if (error === undefined) resolve(result());
            else reject(error);
          } catch (thrown) {
            reject(thrown);
          }
        },
      };
      this.calls.push(call);
    });
  }
}

const noStats = {
  totalMs: 1,
  computeMs: 1,
  waitMs: 0,
  sentBytes: 0,
  receivedBytes: 0,
  rounds: 0,
  heapBytes: null,
};

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
