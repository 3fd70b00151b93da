/**
 * One device's part in a room: who is host, which placement holds, when a run may start and what happens when a
 * device is lost. A state machine without DOM, WebRTC or Worker: events come in as calls, effects go out through
 * the ports it is given, and decisions.ts says, from the whole state, what is to be done next. The parts of the state
 * are files of their own: epochs.ts, hostRole.ts, follower.ts, sessions.ts, runLoop.ts.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { DeviceStatus, RoomMessage } from '../../protocol/roomMessages.ts';
import type { PlanSummary } from '../../workers/api.ts';
import type { CoordinatorPorts, CoordinatorState } from './coordinatorPorts.ts';
import { claims, isBusy, type Parts, stepAsHost, stepAsOther } from './decisions.ts';
import { Epochs } from './epochs.ts';
import { Follower } from './follower.ts';
import { HostRole } from './hostRole.ts';
import { LinkCosts } from './linkCosts.ts';
import { measurementsOf } from './measurements.ts';
import { type DeviceChoice, Placer } from './placer.ts';
import { RunLoop } from './runLoop.ts';
import type { RunInputs, RunOutcome, RunWishes } from './runQueue.ts';
import { Sessions } from './sessions.ts';
import { StallWatch } from './stallWatch.ts';
import { StatusSender } from './statusSender.ts';
import { WakeUp } from './wakeUp.ts';

export type * from './coordinatorPorts.ts';

/** What a page says of its device. */
type About = Pick<DeviceStatus, 'name' | 'backend' | 'mayStop' | 'speed' | 'memoryLimitBytes'>;

export class Coordinator {
  readonly #ports: CoordinatorPorts;
  readonly #members = new Map<string, DeviceStatus | null>();
  readonly #parts: Parts;
  readonly #links: LinkCosts;
  readonly #placer: Placer;
  readonly #sender: StatusSender;
  readonly #wakeUp: WakeUp;
  #about: About = { name: '', backend: null, mayStop: false, speed: null, memoryLimitBytes: null };
  #measuredEpoch = 0;
  #closed: StarlingError | null = null;
  #stepping = false;
  #again = false;

  constructor(ports: CoordinatorPorts) {
    this.#ports = ports;
    const { self, device, planAddresses, clock } = ports;
    const members = this.#members;
    const step = () => this.#step();
    const broadcast = (message: RoomMessage) => {
      for (const id of members.keys()) ports.send(id, message);
    };
    const wakeUp = new WakeUp(clock, step);
    const follower = new Follower({ self, device, planAddresses, onChange: step });
    const describePlan = (url: string) => ports.describePlan(url);
    const links = new LinkCosts({ device, onChange: step });
    const measure = (ids: readonly string[]) => measurementsOf(ids, this.#status(), members, links);
    const placer = new Placer({ self, device, clock, wakeUp, follower, measure, onChange: step });
    const epochs = new Epochs({ self, members, follower, placer, links, describePlan, broadcast });
    epochs.devices = ports.devices;
    const runs = new RunLoop({
      self,
      device,
      clock,
      wakeUp,
      hasSession: () => this.#parts.sessions.current !== null,
      exclude: (id, error) => epochs.exclude(id, error),
      onRun: (event) => ports.onRun(event),
      onTimed: (placement, inputs, { stats }) => {
        const expected = this.#parts.follower.plan?.summary.inputs ?? [];
        // A batch of another size takes another time.
        const isPlain = expected.every(({ name, shape }) => inputs[name]?.dims[0] === shape[0]);
        if (isPlain) placer.note(placement, stats);
      },
      onChange: step,
    });
    this.#parts = {
      self,
      follower,
      epochs,
      role: new HostRole({ self, members, epochs, clock, wakeUp }),
      runs,
      sessions: new Sessions({ follower, runs, onChange: step }),
      stall: new StallWatch(epochs, clock, wakeUp),
    };
    this.#links = links;
    this.#placer = placer;
    this.#wakeUp = wakeUp;
    this.#sender = new StatusSender(broadcast, clock);
  }

  get state(): CoordinatorState {
    const { follower, epochs, runs } = this.#parts;
    const { placement, hostPresent, excluded } = epochs;
    return {
      placement,
      hostPresent,
      own: this.#status(),
      others: this.#members,
      excluded,
      plan: follower.plan?.summary ?? null,
      choice: epochs.isHost && epochs.devices === 'best' ? this.#placer.choice : null,
      waitingRuns: runs.waiting,
      running: runs.running,
    };
  }

  /** Of the plan that is open on this device. */
  get planUrl(): string | null {
    return this.#parts.follower.plan?.url ?? null;
  }

  describe(about: Partial<About>): void {
    this.#about = { ...this.#about, ...about };
    this.#step();
  }

  /** The device can be sent messages, and tensors. */
  peerConnected(id: string): void {
    if (this.#closed !== null) return;
    this.#members.set(id, null);
    this.#ports.send(id, this.#status());
    this.#links.measure(id);
    const { isHost, placement } = this.#parts.epochs;
    if (isHost && placement !== null) this.#ports.send(id, placement);
    this.#step();
  }

  peerLost(id: string): void {
    this.#members.delete(id);
    this.#links.forget(id);
    this.#parts.epochs.excluded.delete(id);
    this.#step();
  }

  receive(from: string, message: RoomMessage): void {
    if (this.#closed !== null || !this.#members.has(from)) return;
    if (message.type === 'status') this.#members.set(from, message);
    else if (message.host === from) this.#parts.epochs.hear(message);
    this.#step();
  }

  /**
   * Makes a plan this page's own, of several plans of one model the best for the room; an earlier one is released.
   * Settles when all its shards are loaded. Rejects with the Worker's error, MEMORY_LIMIT, RUN_ABORTED, or the reason
   * of `close`.
   */
  load(urls: string | readonly string[], signal?: AbortSignal): Promise<PlanSummary> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    this.release('Another plan was loaded in its place.');
    this.#placer.forget();
    const session = this.#parts.sessions.start(typeof urls === 'string' ? [urls] : urls, signal);
    this.#parts.epochs.excluded.clear();
    this.#step();
    return session.loading;
  }

  /** One inference; settles with outputs, an error, or RUN_ABORTED. A lost device only makes it slower. */
  run(inputs: RunInputs, wishes: RunWishes = {}): Promise<RunOutcome> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    const session = this.#parts.sessions.current;
    if (session === null || session.summary === null) {
      const error = new StarlingError('RUN_FAILED', 'No plan is loaded; load one before running it.');
      return Promise.reject(error);
    }
    if (session.failed) {
      this.#parts.epochs.stale = true;
      this.#placer.forget();
    }
    session.failed = false;
    return this.#parts.runs.add(inputs, wishes);
  }

  /** Which devices the runs of this page use, from the next one on. */
  useDevices(devices: DeviceChoice = this.#ports.devices): void {
    this.#parts.epochs.devices = devices;
    this.#step();
  }

  /** Gives up this page's plan: its pending calls reject with RUN_ABORTED. The device keeps its shards. */
  release(reason: string): void {
    if (!this.#parts.sessions.end(new StarlingError('RUN_ABORTED', reason))) return;
    this.#parts.epochs.devices = this.#ports.devices;
    this.#step();
  }

  /** Ends everything; every pending call rejects with `reason`. */
  close(reason: StarlingError): void {
    if (this.#closed !== null) return;
    this.#parts.sessions.end(reason);
    this.#closed = reason;
    this.#parts.runs.close(reason);
    this.#sender.close();
    this.#wakeUp.close();
    this.#members.clear();
    this.#ports.onChange();
  }

  /** Does whatever the state asks for, until nothing is left to do; then tells others and the page. */
  #step(): void {
    if (this.#closed !== null) return;
    if (this.#stepping) {
      this.#again = true;
      return;
    }
    const { follower, epochs, role } = this.#parts;
    this.#stepping = true;
    let rounds = 0;
    do {
      // Decisions that undo each other would hang the page; an error can at least be seen.
      if (rounds++ > 100) {
        this.#stepping = false;
        throw new StarlingError('INTERNAL', 'The device came to no decision.');
      }
      this.#again = false;
      epochs.takeChanged();
      follower.follow(epochs.hostPresent ? epochs.placement : null);
      role.note(claims(this.#parts));
      if (epochs.isHost) stepAsHost(this.#parts);
      else stepAsOther(this.#parts);
    } while ((epochs.takeChanged() || this.#again) && this.#closed === null);
    this.#stepping = false;
    if (this.#closed !== null) return;
    this.#measureIfLoaded();
    this.#sender.offer(this.#status());
    this.#ports.onChange();
  }

  /** Peers that started their runtime while they were measured first have done so by now. */
  #measureIfLoaded(): void {
    const { load } = this.#parts.follower;
    if (load?.phase !== 'ready' || load.epoch === this.#measuredEpoch) return;
    this.#measuredEpoch = load.epoch;
    this.#links.measureAgain();
  }

  #status(): DeviceStatus {
    const { follower, epochs, sessions } = this.#parts;
    return {
      type: 'status',
      ...this.#about,
      links: [...this.#members.keys()],
      linkCosts: this.#links.list(),
      epoch: epochs.placement?.epoch ?? 0,
      load: follower.load,
      session: sessions.current !== null && !sessions.current.failed,
      claiming: claims(this.#parts),
      busy: isBusy(this.#parts),
    };
  }
}
