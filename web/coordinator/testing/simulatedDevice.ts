/** A device's Worker without a browser: every call waits until the test finishes it, well or badly. */
import { StarlingError } from '../../../protocol/errors.ts';
import { localLink } from '../../../runtime/predict/costModel.ts';
import type {
  ForecastQuestion,
  LoadReport,
  PlacementMessage,
  PlanForecast,
  PlanSummary,
  RunResult,
} from '../../../workers/api.ts';
import type { CoordinatedDevice } from '../coordinator.ts';

export interface Call {
  readonly kind: 'openPlan' | 'load' | 'run' | 'forecast';
  readonly what: string;
  /** Of a run: those that take part. */
  readonly devices?: readonly string[];
  finish(error?: StarlingError): void;
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
export class SimulatedDevice implements CoordinatedDevice {
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
        devices: placement?.devices ?? [],
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
