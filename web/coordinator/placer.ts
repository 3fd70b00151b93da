/**
 * Decides, on a host, which devices hold which shards of which plan: equal shares where the page asks for that, else by
 * what the devices and links were measured to do. A decision holds while the same devices are there; it is thought
 * over when measurements, or the runs themselves, say otherwise by much. Announcing it is epochs.ts'.
 */
import { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Placement } from '../../protocol/roomMessages.ts';
import type { DeviceApi, PlanForecast, RunStats } from '../../workers/api.ts';
import {
  type ChoiceContext,
  choosePlacement,
  type PlacementChoice,
  placementKey,
} from '../choosePlacement.ts';
import type { Clock } from '../clock.ts';
import { linkedGroup, type Shares, shareEqually } from '../placement.ts';
import type { Follower, OpenPlan } from './follower.ts';
import { differs, type Measurements } from './measurements.ts';
import { RunTimes } from './runTimes.ts';
import type { WakeUp } from './wakeUp.ts';

/** `best`: as measured; `all`: equal shares for everybody; `own`: this device alone. */
export type DeviceChoice = 'best' | 'all' | 'own';

export interface Decision extends Shares {
  readonly url: string;
  readonly sha256: string;
  /** Null where nothing was measured. */
  readonly choice: PlacementChoice | null;
}

export interface PlacerOptions {
  readonly self: string;
  readonly device: Pick<DeviceApi, 'forecast'>;
  readonly clock: Clock;
  readonly wakeUp: WakeUp;
  readonly follower: Pick<Follower, 'plan'>;
  /** What is known now of these devices, this one first. */
  measure(ids: readonly string[]): Measurements;
  onChange(): void;
}

interface Situation {
  readonly key: string;
  readonly urls: readonly string[];
  readonly ids: readonly string[];
}

interface Known {
  readonly key: string;
  readonly forecasts: readonly PlanForecast[];
  readonly measured: Measurements;
  readonly faster: number;
  decision: Decision | StarlingError;
}

export class Placer {
  readonly #options: PlacerOptions;
  readonly #times = new RunTimes();
  #known: Known | null = null;
  #asking: string | null = null;
  #askedAt = Number.NEGATIVE_INFINITY;

  constructor(options: PlacerOptions) {
    this.#options = options;
  }

  /** The measured choice that holds, for the page. */
  get choice(): PlacementChoice | null {
    const decision = this.#known?.decision;
    return decision === undefined || decision instanceof StarlingError ? null : decision.choice;
  }

  /** For the plans at `urls`; null while it is being thought about. */
  decide(
    urls: readonly string[],
    candidates: Parameters<typeof linkedGroup>[1],
    devices: DeviceChoice,
  ): Decision | StarlingError | null {
    const { self, follower } = this.#options;
    if (devices !== 'best') {
      if (follower.plan === null) return null;
      return equalDecision(follower.plan, self, devices === 'own' ? [] : candidates);
    }
    const ids = [self, ...linkedGroup(self, candidates)];
    const situation = { key: JSON.stringify([urls, ids]), urls, ids };
    if (this.#known?.key !== situation.key) {
      this.#ask(situation);
      return null;
    }
    if (this.#outdated(this.#known, ids)) this.#ask(situation);
    return this.#known.decision;
  }

  /** A run of this host has ended well; `stats` of a run that is like those that were predicted. */
  note(placement: Placement, stats: RunStats): void {
    const known = this.#known;
    const { devices, shards, plan } = placement;
    const key = placementKey({ sha256: plan.sha256, devices, shards });
    const forecast = known?.forecasts.find((one) => placementKey(one) === key);
    if (known === null || forecast === undefined) return;
    const predicted = forecast.computeMs[devices.indexOf(this.#options.self)] ?? 0;
    const sped = predicted > 0 && stats.computeMs > 0 ? (predicted / stats.computeMs) * known.faster : null;
    this.#times.note(key, stats.totalMs, sped);
    // Before there are enough runs of what is loaded, they say nothing against it.
    if (this.#times.isObserved(key)) known.decision = this.#choose(known, key);
  }

  #outdated({ measured, faster }: Known, ids: readonly string[]): boolean {
    const { measure, wakeUp } = this.#options;
    const changed = this.#times.faster > 1.2 * faster || differs(measured, measure(ids));
    return changed && wakeUp.isPast(this.#askedAt + limits.placementRethinkMs);
  }

  #ask({ key, urls, ids }: Situation): void {
    if (this.#asking === key) return;
    const { device, clock, onChange, measure } = this.#options;
    this.#asking = key;
    this.#askedAt = clock.now();
    const measured = measure(ids);
    const { faster } = this.#times;
    const devices = measured.devices.map(({ id, speed }) => ({ id, speed: speed * faster }));
    device.forecast({ urls, devices, links: measured.links }).then(
      (forecasts) => {
        if (this.#asking !== key) return;
        this.#asking = null;
        const before = this.#known?.key === key ? this.#known : null;
        if (before === null) this.#times.clear();
        const known: Known = { key, forecasts, measured, faster, decision: noDecision };
        known.decision = this.#choose(known, currentOf(before?.decision));
        this.#known = known;
        onChange();
      },
      (thrown: unknown) => {
        if (this.#asking !== key) return;
        this.#asking = null;
        const decision = StarlingError.from(thrown, 'PLAN_UNREADABLE');
        this.#known = { key, forecasts: [], measured, faster, decision };
        onChange();
      },
    );
  }

  #choose({ forecasts, measured }: Known, current: string | null): Decision | StarlingError {
    const devices = new Map(measured.devices.map((one) => [one.id, one]));
    const context: ChoiceContext = {
      host: this.#options.self,
      limitOf: (id) => devices.get(id)?.memoryLimitBytes ?? null,
      nameOf: (id) => devices.get(id)?.name ?? 'A device',
      observedMs: this.#times.observedMs,
      current,
    };
    const choice = choosePlacement(forecasts, context);
    if (choice instanceof StarlingError) return choice;
    const { url, sha256, devices: ids, shards } = choice.forecast;
    return { url, sha256, devices: ids, shards, choice };
  }

  /** What was decided is forgotten: a plan that could not be read may be there now. */
  forget(): void {
    this.#known = null;
    this.#asking = null;
  }
}

const noDecision = new StarlingError('INTERNAL', 'Nothing is decided yet.');

function currentOf(decision: Decision | StarlingError | undefined): string | null {
  return decision === undefined || decision instanceof StarlingError ? null : placementKey(decision);
}

function equalDecision(
  { url, summary }: OpenPlan,
  self: string,
  candidates: Parameters<typeof linkedGroup>[1],
): Decision {
  const shares = shareEqually(summary.numShards, [self, ...linkedGroup(self, candidates)]);
  return { ...shares, url, sha256: summary.sha256, choice: null };
}
