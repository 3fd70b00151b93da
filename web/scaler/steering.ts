/**
 * Turns the knobs: measures windows of traffic, asks the policy after each, and brings the pool to what it says. Knows
 * no queue and no batch but their times.
 */
import type { StarlingError } from '../../protocol/errors.ts';
import { limits } from '../../protocol/limits.ts';
import type { Clock } from '../clock.ts';
import type { InstancePool } from './instancePool.ts';
import { latencyCorrection } from './latencyCorrection.ts';
import type { LatencyCorrection } from './latencyEstimate.ts';
import { Measurements } from './measurements.ts';
import { MeasuringWindow, type ServedBatch } from './measuringWindow.ts';
import { createPolicy, type PolicyChoice } from './policies.ts';
import { PoolFitter } from './poolFitter.ts';
import { checkLimits, checkObjective, type Decision } from './scalerApi.ts';
import {
  type Objective,
  type Policy,
  type Proposal,
  type ScalerLimits,
  type Setting,
  sameSetting,
  type WindowReport,
} from './setting.ts';

export interface SteeringOptions {
  readonly pool: Pick<InstancePool<never, unknown>, 'size' | 'resize' | 'onChange'>;
  readonly objective: Objective;
  readonly limits: ScalerLimits;
  readonly clock: Clock;
  readonly policy?: PolicyChoice;
  readonly correction?: LatencyCorrection;
  readonly onDecision?: (decision: Decision) => void;
  /** More batches may be started than before. */
  onChange(): void;
}

/** A batch that takes longer than this, and ten times the objective, spans a moment in which nothing ran. */
const sleepMs = 1_000;

/** No instance is made in so short a time. */
const quickFitMs = 20;

export class Steering {
  readonly #options: SteeringOptions;
  readonly #context: {
    limits: ScalerLimits;
    objective: Objective;
    readonly measurements: Measurements;
    readonly correction: LatencyCorrection;
    current: Setting;
  };
  readonly #fitter: PoolFitter;
  readonly #endListening: () => void;
  #policy: Policy;
  #decision: Decision;
  #window: MeasuringWindow;
  #era = 0;
  #windows = 0;
  #missedWindows = 0;
  #closed = false;
  #refusal: StarlingError | null = null;
  #fittingSince = 0;
  #settledAt = Number.NEGATIVE_INFINITY;
  #lastAt = Number.NEGATIVE_INFINITY;
  /** Since the last window. */
  #slept = false;

  /** Throws USAGE for limits or an objective that make no sense. */
  constructor(options: SteeringOptions) {
    const { pool, limits, objective, clock, correction = latencyCorrection } = options;
    checkLimits(limits);
    checkObjective(objective);
    this.#options = options;
    const current = { batch: 1, instances: 1, threads: limits.threads[0] ?? 1 };
    this.#context = { limits, objective, measurements: new Measurements(), correction, current };
    this.#policy = createPolicy(options.policy ?? 'joint', this.#context);
    this.#decision = { ...this.#policy.next().value, at: clock.now(), report: null };
    this.#context.current = this.#decision.setting;
    this.#window = this.#newWindow(true);
    this.#fitter = new PoolFitter(pool, (failure) => this.#onFitted(failure));
    this.#endListening = pool.onChange((change) => this.#onPoolChange(change));
    this.#fit();
  }

  get decision(): Decision {
    return this.#decision;
  }

  /** Why there are no more instances, where the room could not hold all that were wanted. */
  get refusal(): StarlingError | null {
    return this.#refusal;
  }

  get objective(): Objective {
    return this.#context.objective;
  }

  /** Rises whenever what was started before says nothing of what is measured now. */
  get era(): number {
    return this.#era;
  }

  /** False for a batch of an earlier era, and while instances are made or warm up. */
  counts(era: number): boolean {
    return era === this.#era && !this.#fitter.busy && this.#window.counts(this.#options.clock.now());
  }

  get windows(): { readonly decided: number; readonly missed: number } {
    return { decided: this.#windows, missed: this.#missedWindows };
  }

  setObjective(objective: Objective): void {
    checkObjective(objective);
    this.#context.objective = objective;
    this.#restart();
  }

  /** A batch that was started in `era` was answered. */
  add(batch: ServedBatch, era: number): void {
    // Making instances takes time from those that serve: what is measured meanwhile says nothing of either.
    if (era !== this.#era || this.#closed || this.#fitter.busy) return;
    const now = this.#options.clock.now();
    const { p95Ms } = this.#context.objective;
    const wasSetBack = now < this.#lastAt || !(batch.serviceMs >= 0);
    // The machine slept, the page was frozen, or the clock was set forward; the second time in a row it is the devices.
    const wasAsleep = batch.serviceMs > Math.max(sleepMs, 10 * p95Ms) && !this.#slept;
    this.#lastAt = now;
    this.#slept ||= wasAsleep;
    if (wasSetBack || wasAsleep) {
      // Nothing that spans such a moment can be measured.
      this.#beginEra();
      return;
    }
    const report = this.#window.add(batch, p95Ms, now);
    if (report === null) return;
    this.#slept = false;
    this.#windows++;
    if (report.p95Ms > p95Ms) this.#missedWindows++;
    this.#decide(this.#policy.next(report).value, report);
  }

  close(): void {
    this.#closed = true;
    this.#endListening();
  }

  #decide(proposal: Proposal, report: WindowReport | null): void {
    const goesOn = report !== null && sameSetting(proposal.setting, this.#decision.setting);
    this.#decision = { ...proposal, at: this.#options.clock.now(), report };
    this.#context.current = proposal.setting;
    if (goesOn && proposal.afresh !== true) this.#window = this.#newWindow(false);
    else this.#beginEra();
    this.#options.onDecision?.(this.#decision);
    this.#fit();
    this.#options.onChange();
  }

  #beginEra(): void {
    this.#era++;
    this.#window = this.#newWindow(true);
  }

  #newWindow(warmsUp: boolean): MeasuringWindow {
    const { instances } = this.#decision.setting;
    const warmUp = warmsUp ? Math.min(instances, Math.max(1, this.#options.pool.size)) : 0;
    const now = this.#options.clock.now();
    // A clock that was set back must not make that moment a distant one.
    return new MeasuringWindow(this.#decision, warmUp, now, Math.min(this.#settledAt, now + limits.settleMs));
  }

  #fit(): void {
    if (!this.#fitter.busy) this.#fittingSince = this.#options.clock.now();
    this.#fitter.fit(this.#decision.setting);
  }

  /** The policy starts again from what runs now and from what is known. */
  #restart(): void {
    this.#policy = createPolicy(this.#options.policy ?? 'joint', this.#context);
    this.#decide(this.#policy.next().value, null);
  }

  #onPoolChange({ remeasure }: { readonly remeasure: boolean }): void {
    this.#fitter.forget();
    if (remeasure) {
      this.#refusal = null;
      this.#context.limits = this.#options.limits;
      this.#context.measurements.clear();
      this.#restart();
      return;
    }
    this.#beginEra();
    this.#fit();
    this.#options.onChange();
  }

  #onFitted(failure: StarlingError | null): void {
    if (this.#closed) return;
    const now = this.#options.clock.now();
    // Otherwise they were there already.
    if (now - this.#fittingSince >= quickFitMs) this.#settledAt = now + limits.settleMs;
    if (failure !== null) this.#lowerLimit(failure);
    // Until here fewer instances ran than were to be measured.
    this.#beginEra();
    this.#options.onChange();
  }

  /** The room cannot hold so many: from now on that is the limit, until devices change. */
  #lowerLimit(failure: StarlingError): void {
    this.#refusal = failure;
    const refused = this.#decision.setting.instances;
    const most = Math.max(1, Math.min(this.#options.pool.size, refused - 1));
    if (most >= this.#context.limits.maxInstances) return;
    this.#context.limits = { ...this.#context.limits, maxInstances: most };
    this.#restart();
  }
}
