/**
 * One device's part in a room: who is host, which placement holds, when a run may start and what happens when a
 * device is lost. A state machine without DOM, WebRTC or Worker: events come in as calls, effects go out through
 * the ports it is given, and `#step` decides, from the whole state, what is to be done next.
 *
 * The host announces placements with rising epochs; the newest wins. A page with runs of its own claims the role
 * of host, and takes it when the host has nothing to do or has held it long enough.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { DeviceStatus, ErrorMessage, Placement, RoomMessage } from '../../protocol/roomMessages.ts';
import type { DeviceApi, PlanSummary, RunResult } from '../../workers/api.ts';
import type { Clock } from '../clock.ts';
import { placeShards, sameShares } from '../placement.ts';
import type { PlanPlace } from '../planAddresses.ts';
import { Follower, type FollowerOptions } from './follower.ts';
import { eligible, idsWhere, loadOf, stands } from './members.ts';
import { type QueuedRun, type RunInputs, type RunOutcome, RunQueue, type RunWishes } from './runQueue.ts';
import { StatusSender } from './statusSender.ts';

export type CoordinatedDevice = Pick<DeviceApi, 'openPlan' | 'load' | 'run' | 'abort'>;

export interface CoordinatorPorts {
  readonly self: string;
  readonly device: CoordinatedDevice;
  readonly clock: Clock;
  /** To one connected device; what cannot be sent is lost with its connection. */
  send(to: string, message: RoomMessage): void;
  readonly planAddresses: FollowerOptions['planAddresses'];
  /** How the others find a plan that this page reads at `url`. */
  describePlan(url: string): PlanPlace;
  /** Something that `state` shows may have changed. */
  onChange(): void;
  onRun(event: RunEvent): void;
}

export type RunEvent =
  | { readonly phase: 'started'; readonly devices: number; readonly waiting: number }
  | { readonly phase: 'interrupted'; readonly reason: string }
  | { readonly phase: 'finished'; readonly outcome: RunOutcome }
  | { readonly phase: 'failed'; readonly error: StarlingError };

interface PageSession {
  readonly url: string;
  /** The plan, once the placement was active; until then `load` is pending. */
  summary: PlanSummary | null;
  readonly settle: (outcome: PlanSummary | StarlingError) => void;
  /** This device could not hold its shards; the next run tries again. */
  failed: boolean;
}

interface RunningRun {
  readonly run: QueuedRun;
  readonly runId: number;
  interrupted: boolean;
}

export interface CoordinatorState {
  readonly placement: Placement | null;
  /** The host is there (or this device). */
  readonly hostPresent: boolean;
  readonly own: DeviceStatus;
  readonly others: ReadonlyMap<string, DeviceStatus | null>;
  readonly excluded: ReadonlyMap<string, ErrorMessage>;
  readonly plan: PlanSummary | null;
  readonly waitingRuns: number;
  readonly running: boolean;
}

export class Coordinator {
  readonly #ports: CoordinatorPorts;
  readonly #follower: Follower;
  readonly #queue: RunQueue;
  readonly #sender: StatusSender;
  readonly #members = new Map<string, DeviceStatus | null>();
  readonly #excluded = new Map<string, ErrorMessage>();
  /** The next moment at which something is due without anything having happened. */
  #wake: { readonly at: number; readonly cancel: () => void } | null = null;
  #about: Pick<DeviceStatus, 'name' | 'backend' | 'mayStop'> = { name: '', backend: null, mayStop: false };
  #session: PageSession | null = null;
  #placement: Placement | null = null;
  #running: RunningRun | null = null;
  #nextRunId = 1;
  #opening = false;
  #alone = false;
  /** The placement must be announced anew although nobody joined or left. */
  #stale = false;
  #hostSince = 0;
  #claimedSince: number | null = null;
  #lastRunEnd = Number.NEGATIVE_INFINITY;
  #retryAt = Number.NEGATIVE_INFINITY;
  #stall = { key: '', since: 0 };
  #closed: StarlingError | null = null;
  #stepping = false;
  #again = false;

  constructor(ports: CoordinatorPorts) {
    this.#ports = ports;
    const step = () => this.#step();
    const { self, device, planAddresses } = ports;
    this.#follower = new Follower({ self, device, planAddresses, onChange: step });
    this.#queue = new RunQueue(step);
    this.#sender = new StatusSender((status) => this.#broadcast(status), ports.clock);
  }

  get state(): CoordinatorState {
    return {
      placement: this.#placement,
      hostPresent: this.#hostPresent(),
      own: this.#status(),
      others: this.#members,
      excluded: this.#excluded,
      plan: this.#follower.plan?.summary ?? null,
      waitingRuns: this.#queue.length,
      running: this.#running !== null,
    };
  }

  describe(about: Partial<Pick<DeviceStatus, 'name' | 'backend' | 'mayStop'>>): void {
    this.#about = { ...this.#about, ...about };
    this.#step();
  }

  /** The device can be sent messages, and tensors. */
  peerConnected(id: string): void {
    if (this.#closed !== null) return;
    this.#members.set(id, null);
    this.#ports.send(id, this.#status());
    if (this.#placement?.host === this.#ports.self) this.#ports.send(id, this.#placement);
    this.#step();
  }

  peerLost(id: string): void {
    this.#members.delete(id);
    this.#excluded.delete(id);
    this.#step();
  }

  receive(from: string, message: RoomMessage): void {
    if (this.#closed !== null || !this.#members.has(from)) return;
    if (message.type === 'status') this.#members.set(from, message);
    else if (message.host === from) this.#hear(message);
    this.#step();
  }

  /**
   * Makes `url` this page's plan; an earlier one is released. Settles when all its shards are loaded.
   * Rejects with the Worker's error, RUN_ABORTED, or the reason of `close`.
   */
  load(url: string, signal?: AbortSignal): Promise<PlanSummary> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    this.release('Another plan was loaded in its place.');
    return new Promise((resolve, reject) => {
      const abort = () => {
        if (this.#session === session) this.#session = null;
        session.settle(new StarlingError('RUN_ABORTED', 'Loading the plan was called off by its caller.'));
        this.#step();
      };
      const session: PageSession = {
        url,
        summary: null,
        failed: false,
        settle(outcome) {
          signal?.removeEventListener('abort', abort);
          if (outcome instanceof StarlingError) reject(outcome);
          else resolve(outcome);
        },
      };
      this.#session = session;
      if (signal?.aborted === true) return abort();
      signal?.addEventListener('abort', abort);
      this.#excluded.clear();
      this.#step();
    });
  }

  /** One inference; settles with outputs, an error, or RUN_ABORTED. A lost device only makes it slower. */
  run(inputs: RunInputs, wishes: RunWishes = {}): Promise<RunOutcome> {
    if (this.#closed !== null) return Promise.reject(this.#closed);
    if (this.#session?.summary == null) {
      return Promise.reject(
        new StarlingError('RUN_FAILED', 'No plan is loaded; load one before running it.'),
      );
    }
    if (this.#session.failed) this.#stale = true;
    this.#session.failed = false;
    return this.#queue.add(inputs, wishes);
  }

  /** Whether the runs of this page use this device only, from the next one on, though others are there. */
  setAlone(alone: boolean): void {
    this.#alone = alone;
    this.#step();
  }

  /** Gives up this page's plan: its pending calls reject with RUN_ABORTED. The device keeps its shards. */
  release(reason: string): void {
    const session = this.#session;
    if (session === null) return;
    this.#session = null;
    this.#alone = false;
    this.#rejectPending(session, new StarlingError('RUN_ABORTED', reason));
    this.#step();
  }

  /** Ends everything; every pending call rejects with `reason`. */
  close(reason: StarlingError): void {
    if (this.#closed !== null) return;
    const session = this.#session;
    this.#session = null;
    if (session !== null) this.#rejectPending(session, reason);
    this.#closed = reason;
    this.#sender.close();
    this.#wake?.cancel();
    this.#wake = null;
    this.#members.clear();
    this.#ports.onChange();
  }

  #rejectPending(session: PageSession, error: StarlingError): void {
    if (session.summary === null) session.settle(error);
    this.#queue.rejectAll(error);
    this.#running?.run.settle(error);
    this.#interrupt();
  }

  // --- decisions -----------------------------------------------------------------------------------

  /** Does whatever the state asks for, until nothing is left to do; then tells others and the page. */
  #step(): void {
    if (this.#closed !== null) return;
    if (this.#stepping) {
      this.#again = true;
      return;
    }
    this.#stepping = true;
    let rounds = 0;
    do {
      // Decisions that undo each other would hang the page; an error can at least be seen.
      if (rounds++ > 100) throw new StarlingError('INTERNAL', 'The device came to no decision.');
      this.#again = false;
      this.#follower.follow(this.#hostPresent() ? this.#placement : null);
      this.#noteClaims();
      if (this.#isHost()) this.#stepAsHost();
      else this.#stepAsOther();
    } while (this.#again && this.#closed === null);
    this.#stepping = false;
    if (this.#closed !== null) return;
    this.#sender.offer(this.#status());
    this.#ports.onChange();
  }

  #stepAsOther(): void {
    this.#interrupt();
    const session = this.#session;
    if (session === null || session.failed) return;
    const load = this.#follower.load;
    if (this.#hostPresent() && session.summary === null && !this.#wantsOtherPlan(session)) {
      if (load?.phase === 'ready') this.#settleLoad(session);
      else if (load?.phase === 'failed') this.#failSession(session);
    }
    if (this.#opening || !this.#mayBecomeHost()) return;
    if (this.#follower.plan?.url === session.url) this.#becomeHost();
    else this.#openPlan(session);
  }

  #stepAsHost(): void {
    const { self } = this.#ports;
    const session = this.#session;
    const placement = this.#placement;
    const plan = this.#follower.plan;
    if (placement === null || session === null || session.failed) {
      this.#interrupt();
      return;
    }
    for (const id of placement.devices) {
      const load = loadOf(this.#members.get(id), placement);
      if (id !== self && load?.phase === 'failed') this.#exclude(id, load.error);
    }
    const sound =
      stands(placement, self, this.#members) &&
      !this.#stale &&
      plan?.url === session.url &&
      plan.summary.sha256 === placement.plan.sha256;
    if (this.#running !== null) {
      if (!sound || this.#running.run.settled) this.#interrupt();
      return;
    }
    if (plan?.url !== session.url) {
      if (!this.#opening) this.#openPlan(session);
      return;
    }
    if (sound && !this.#isLoaded(placement)) {
      if (this.#follower.load?.phase === 'failed') this.#failSession(session);
      else this.#watchForStall(placement, session);
      return;
    }
    // Whoever joined while the last load or run was going on is taken up here, before the next run.
    const shares = this.#shares(plan.summary.numShards, placement.epoch);
    if (!sound || !sameShares(shares, placement)) {
      this.#announce(plan.summary);
      return;
    }
    this.#settleLoad(session);
    if (this.#isPast(this.#retryAt) && !this.#yields()) this.#startNext(placement);
  }

  // --- the role of host ------------------------------------------------------------------------------

  #isHost(): boolean {
    return this.#placement?.host === this.#ports.self;
  }

  #hostPresent(): boolean {
    const placement = this.#placement;
    if (placement === null || this.#isHost()) return placement !== null;
    const host = this.#members.get(placement.host);
    // A host that could not load its own shards has no session any more and holds nobody up.
    return host !== undefined && loadOf(host, placement)?.phase !== 'failed';
  }

  #wantsOtherPlan(session: PageSession): boolean {
    return this.#follower.load?.phase === 'ready' && this.#follower.plan?.url !== session.url;
  }

  #claims(): boolean {
    const session = this.#session;
    if (session === null || session.failed || this.#isHost() || !this.#hostPresent()) return false;
    return this.#queue.length > 0 || (session.summary === null && this.#wantsOtherPlan(session));
  }

  #mayBecomeHost(): boolean {
    const { self, clock } = this.#ports;
    if (!this.#hostPresent()) {
      // Who follows another host, one that this device does not see, will not be host itself.
      const candidates = idsWhere(this.#members, (s) => s.session && s.load === null, self, true);
      return candidates[0] === self;
    }
    if (!this.#claims() || this.#placement === null) return false;
    if (this.#isPast((this.#claimedSince ?? clock.now()) + limits.hostClaimMs)) return true;
    // What the host said before it announced this placement does not count, or two pages overtake each other forever.
    const host = this.#members.get(this.#placement.host) ?? null;
    if (host === null || host.busy || host.epoch < this.#placement.epoch) return false;
    return idsWhere(this.#members, (s) => s.claiming, self, true)[0] === self;
  }

  /** Since when somebody waits for the role of host: this device itself, or, on the host, any other. */
  #noteClaims(): void {
    const claimed = this.#isHost()
      ? idsWhere(this.#members, (status) => status.claiming, this.#ports.self, false).length > 0
      : this.#claims();
    if (!claimed) this.#claimedSince = null;
    else this.#claimedSince ??= this.#ports.clock.now();
  }

  /** Long enough host, with others waiting: starts no further run until one of them has taken over. */
  #yields(): boolean {
    if (this.#claimedSince === null) return false;
    return this.#isPast(Math.max(this.#hostSince, this.#claimedSince) + limits.hostHoldMs);
  }

  #isBusy(): boolean {
    if (!this.#isHost() || this.#session === null) return false;
    if (this.#running !== null) return true;
    if (this.#session.failed || this.#placement === null) return false;
    if (!this.#isLoaded(this.#placement)) return true;
    const idle = this.#queue.length === 0 && this.#isPast(this.#lastRunEnd + limits.hostIdleMs);
    return !idle && !this.#yields();
  }

  #openPlan(session: PageSession): void {
    this.#opening = true;
    this.#follower.open(session.url).then(
      () => {
        this.#opening = false;
        this.#step();
      },
      (thrown: unknown) => {
        this.#opening = false;
        if (this.#session === session) {
          this.#failSession(session, StarlingError.from(thrown, 'PLAN_UNREADABLE'));
        }
        this.#step();
      },
    );
  }

  #becomeHost(): void {
    const plan = this.#follower.plan;
    if (plan === null) return;
    this.#hostSince = this.#ports.clock.now();
    this.#claimedSince = null;
    this.#announce(plan.summary);
  }

  #shares(numShards: number, epoch: number) {
    const { self } = this.#ports;
    const others = this.#alone ? [] : eligible(this.#members, self, epoch, this.#excluded);
    return placeShards(numShards, self, others);
  }

  #announce(summary: PlanSummary): void {
    const { self } = this.#ports;
    const known = this.#placement?.epoch ?? 0;
    const { devices, shards } = this.#shares(summary.numShards, this.#isHost() ? known : known + 1);
    const epochs = devices.map((id) => this.#members.get(id)?.epoch ?? 0);
    this.#stale = false;
    this.#placement = {
      type: 'placement',
      epoch: 1 + Math.max(known, ...epochs),
      host: self,
      plan: { ...this.#ports.describePlan(this.#follower.plan?.url ?? ''), sha256: summary.sha256 },
      devices: [...devices],
      shards: shards.map((share) => [...share]),
    };
    this.#broadcast(this.#placement);
    this.#again = true;
  }

  /** A placement of another host: the newest is followed; of two at once the host with the greater id stays. */
  #hear(placement: Placement): void {
    const own = this.#placement;
    if (own === null || placement.epoch > own.epoch) this.#placement = placement;
    else if (this.#isHost() && placement.epoch === own.epoch) {
      if (placement.host > own.host) this.#placement = placement;
      else this.#stale = true;
    }
  }

  // --- loads -------------------------------------------------------------------------------------------

  #isLoaded(placement: Placement): boolean {
    return placement.devices.every((id) => {
      const load = id === this.#ports.self ? this.#follower.load : loadOf(this.#members.get(id), placement);
      return load?.phase === 'ready' && load.epoch === placement.epoch;
    });
  }

  #watchForStall(placement: Placement, session: PageSession): void {
    const { self, clock } = this.#ports;
    const pending = placement.devices.map((id) => {
      const load = id === self ? this.#follower.load : loadOf(this.#members.get(id), placement);
      return { id, ready: load?.phase === 'ready', progress: load?.progress ?? 0 };
    });
    const key = JSON.stringify([placement.epoch, pending]);
    if (key !== this.#stall.key) {
      this.#stall = { key, since: clock.now() };
    }
    if (!this.#isPast(this.#stall.since + limits.loadStallMs)) return;
    const seconds = limits.loadStallMs / 1000;
    for (const { id, ready } of pending) {
      if (ready) continue;
      const message = `Loading its shards made no progress for ${seconds} s.`;
      if (id === self) this.#failSession(session, new StarlingError('SESSION_FAILED', message));
      else this.#exclude(id, { code: 'SESSION_FAILED', message });
    }
  }

  /** No shards for this device until it comes back with a new connection. */
  #exclude(id: string, error: ErrorMessage | null): void {
    if (this.#excluded.has(id)) return;
    this.#excluded.set(id, error ?? { code: 'SESSION_FAILED', message: 'It could not load its shards.' });
    this.#stale = true;
    this.#again = true;
  }

  #settleLoad(session: PageSession): void {
    const plan = this.#follower.plan;
    if (session.summary !== null || plan === null) return;
    session.summary = plan.summary;
    session.settle(plan.summary);
  }

  #failSession(session: PageSession, error = this.#follower.error): void {
    const reason = error ?? new StarlingError('SESSION_FAILED', 'This device could not load its shards.');
    this.#rejectPending(session, reason);
    session.failed = true;
    if (session.summary === null && this.#session === session) this.#session = null;
  }

  // --- runs ----------------------------------------------------------------------------------------------

  #startNext(placement: Placement): void {
    const run = this.#queue.take();
    if (run === undefined) return;
    const running: RunningRun = { run, runId: this.#nextRunId++, interrupted: false };
    this.#running = running;
    this.#ports.onRun({
      phase: 'started',
      devices: placement.devices.length,
      waiting: this.#queue.length,
    });
    this.#ports.device.run(running.runId, run.inputs, { timeline: run.timeline }).then(
      (result) => this.#finish(running, placement, result),
      (thrown: unknown) => this.#finish(running, placement, StarlingError.from(thrown, 'RUN_FAILED')),
    );
  }

  #interrupt(): void {
    const running = this.#running;
    if (running === null || running.interrupted) return;
    running.interrupted = true;
    // Whether the Worker still knew the run does not matter: its pending call settles either way.
    this.#ports.device.abort(running.runId).catch(() => undefined);
  }

  #finish(running: RunningRun, placement: Placement, outcome: RunResult | StarlingError): void {
    const { run } = running;
    const { clock, onRun, self } = this.#ports;
    this.#running = null;
    this.#lastRunEnd = clock.now();
    if (this.#closed !== null) {
      run.settle(this.#closed);
      return;
    }
    if (!(outcome instanceof StarlingError)) {
      const answer = { ...outcome, restarts: run.restarts, devices: placement.devices.length };
      onRun({ phase: 'finished', outcome: answer });
      run.settle(answer);
    } else if (running.interrupted && this.#session !== null) {
      if (!run.settled) onRun({ phase: 'interrupted', reason: 'A device left; the run starts again.' });
      run.putBack('interrupted');
    } else if (isLoss(outcome) && placement.devices.length > 1 && this.#session !== null) {
      if (run.failures >= limits.runRetries) {
        for (const id of placement.devices) if (id !== self) this.#exclude(id, outcome.toJSON());
      }
      onRun({ phase: 'interrupted', reason: outcome.message });
      this.#retryAt = clock.now() + limits.runRetryMs;
      run.putBack('failed');
    } else {
      if (!run.settled) onRun({ phase: 'failed', error: outcome });
      run.settle(outcome);
    }
    this.#step();
  }

  // --- messages --------------------------------------------------------------------------------------------

  #status(): DeviceStatus {
    return {
      type: 'status',
      ...this.#about,
      links: [...this.#members.keys()],
      epoch: this.#placement?.epoch ?? 0,
      load: this.#follower.load,
      session: this.#session !== null && !this.#session.failed,
      claiming: this.#claims(),
      busy: this.#isBusy(),
    };
  }

  #broadcast(message: RoomMessage): void {
    for (const id of this.#members.keys()) this.#ports.send(id, message);
  }

  /** Another step at that moment, or earlier; whoever waits for a moment says so in every step. */
  #wakeAt(at: number): void {
    if (this.#wake !== null && this.#wake.at <= at) return;
    this.#wake?.cancel();
    const cancel = this.#ports.clock.after(Math.max(0, at - this.#ports.clock.now()), () => {
      this.#wake = null;
      this.#step();
    });
    this.#wake = { at, cancel };
  }

  /** Whether that moment is over; if not, there is another step when it comes. */
  #isPast(at: number): boolean {
    if (this.#ports.clock.now() >= at) return true;
    this.#wakeAt(at);
    return false;
  }
}

/** Errors that say nothing about the run itself: on other devices it may well succeed. */
function isLoss(error: StarlingError): boolean {
  return error.code === 'PEER_LOST' || error.code === 'RUN_ABORTED' || error.code === 'NO_DEVICE';
}
