/** Many runs of one page on a plan with an objective: loads it, makes the load, and counts what was answered when. */
import type { Decision, Overloaded, Room, RunReport, Session } from '../../web/index.ts';

/** An input of a plan, and what its shards together give of it; both raw numbers of one type. */
export interface PlanCase {
  readonly dataType: 'float32' | 'uint8';
  readonly planUrl: string;
  readonly name: string;
  readonly dims: readonly number[];
  readonly inputUrl: string;
  readonly expectedUrl: string;
}

export interface ScalerSettings {
  readonly p95Ms: number;
  readonly maxBatch: number;
  readonly maxInstances: number;
  readonly devicesPerInstance?: number;
  readonly policy:
    | 'joint'
    | 'batching'
    | 'instances'
    | 'clipper'
    | { readonly fixed: { readonly batch: number; readonly instances: number } };
}

export interface Load {
  /** `steady`: so many runs under way at any time. `burst`: so many at once, and again when all are answered. */
  readonly kind: 'steady' | 'burst';
  readonly count: number;
  readonly ms: number;
}

export interface Served {
  readonly seconds: number;
  /** Answered in these seconds, and in all: with the last runs of a steady stream, which are answered after its end. */
  readonly items: number;
  readonly answered: number;
  /** Milliseconds of each run: from the start of its batch, and from the call, to the answer. */
  readonly serviceMs: readonly number[];
  readonly totalMs: readonly number[];
  /** Of each second, how many were answered. */
  readonly perSecond: readonly number[];
  readonly refused: number;
  readonly setting: { readonly batch: number; readonly instances: number };
  readonly phase: string;
  readonly reason: string;
  /** All that was decided since the plan was loaded, oldest first. */
  readonly decisions: readonly Decision[];
  /** Devices of each instance. */
  readonly placements: readonly number[];
  readonly computeMs: number | null;
  readonly networkMs: number | null;
  /** Largest difference to the original, relative to its largest value, over the runs that were looked at. */
  readonly relativeError: number;
}

/** Runs whose answers are compared with the original's; comparing all would take the time of the runs. */
const checkedRuns = 3;

export class ManyRuns {
  #session: Session | null = null;
  #feeds: Parameters<Session['run']>[0] = {};
  #expected: Float32Array | Uint8Array = new Float32Array();
  #decisions: Decision[] = [];

  async load(room: Room, given: PlanCase, wishes: ScalerSettings): Promise<void> {
    const { p95Ms, devicesPerInstance, ...rest } = wishes;
    const Numbers = given.dataType === 'float32' ? Float32Array : Uint8Array;
    const numbers = async (url: string) => new Numbers(await (await fetch(url)).arrayBuffer());
    this.#session = await room.load(given.planUrl, {
      slo: { p95Ms },
      ...rest,
      ...(devicesPerInstance === undefined ? {} : { devicesPerInstance }),
    });
    const decisions: Decision[] = [];
    this.#decisions = decisions;
    this.#session.onDecision((decision) => decisions.push(decision));
    this.#feeds = { [given.name]: { data: await numbers(given.inputUrl), dims: given.dims } };
    this.#expected = await numbers(given.expectedUrl);
  }

  /** Instances that are there, of those that are wanted. */
  instances(): readonly [there: number, wanted: number] {
    const stats = this.#session?.scalerStats();
    return [stats?.placements.length ?? 0, stats?.decision.setting.instances ?? 1];
  }

  async serve({ kind, count, ms }: Load): Promise<Served> {
    const session = this.#session;
    if (session === null) throw new Error('Load a plan first.');
    const start = performance.now();
    const answers: { readonly at: number; readonly serviceMs: number; readonly totalMs: number }[] = [];
    let refused = 0;
    let relativeError = 0;
    const one = async () => {
      const asked = performance.now();
      let report: RunReport | null = null;
      try {
        const outputs = await session.run(this.#feeds, { onReport: (told) => (report = told) });
        const at = performance.now();
        if (answers.length < checkedRuns) {
          relativeError = Math.max(relativeError, this.#errorOf(outputs));
        }
        const serviceMs = (report as RunReport | null)?.batch?.serviceMs ?? at - asked;
        answers.push({ at: at - start, serviceMs, totalMs: at - asked });
      } catch (thrown) {
        const { code, expectedWaitMs } = thrown as Overloaded;
        if (code !== 'OVERLOADED') throw thrown;
        refused++;
        await new Promise((resolve) => setTimeout(resolve, Math.min(1_000, expectedWaitMs ?? 100)));
      }
    };
    const isOver = () => performance.now() - start >= ms;
    if (kind === 'steady') {
      await Promise.all(
        Array.from({ length: count }, async () => {
          while (!isOver()) await one();
        }),
      );
    } else while (!isOver()) await Promise.all(Array.from({ length: count }, one));
    // What is answered after the end of a steady stream found less and less beside it.
    const counted = kind === 'steady' ? answers.filter(({ at }) => at <= ms) : answers;
    const seconds = (kind === 'steady' ? ms : performance.now() - start) / 1000;
    const stats = session.scalerStats();
    const perSecond = Array.from(
      { length: Math.max(1, Math.floor(seconds)) },
      (_, second) => counted.filter(({ at }) => Math.floor(at / 1000) === second).length,
    );
    return {
      seconds,
      items: counted.length,
      answered: answers.length,
      serviceMs: counted.map((answer) => answer.serviceMs),
      totalMs: counted.map((answer) => answer.totalMs),
      perSecond,
      refused,
      setting: stats?.decision.setting ?? { batch: 1, instances: 1 },
      phase: stats?.decision.phase ?? '',
      reason: stats?.decision.reason ?? '',
      decisions: this.#decisions,
      placements: stats?.placements.map((devices) => devices.length) ?? [],
      computeMs: stats?.computeMs ?? null,
      networkMs: stats?.networkMs ?? null,
      relativeError,
    };
  }

  #errorOf(outputs: Awaited<ReturnType<Session['run']>>): number {
    let [at, difference, largest] = [0, 0, 0];
    for (const { data } of Object.values(outputs)) {
      for (const value of data as Float32Array | Uint8Array) {
        const wanted = this.#expected[at++] ?? Number.NaN;
        difference = Math.max(difference, Math.abs(value - wanted));
        largest = Math.max(largest, Math.abs(wanted));
      }
    }
    return at === this.#expected.length ? difference / largest : Number.NaN;
  }
}
