/** What a room needs for plans with an objective: its instances, and the scaled runs of the plan that is loaded now. */
import type { BackendInfo } from '../../protocol/backendInfo.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { PlanSummary } from '../../workers/api.ts';
import { systemClock } from '../clock.ts';
import type { Coordinator } from '../coordinator/coordinator.ts';
import type { Candidate } from '../placement.ts';
import { describePlan } from '../planAddresses.ts';
import { MemoryLedger } from './memoryLedger.ts';
import { createPageInstances, type PageInstancesOptions } from './pageInstances.ts';
import type { RoomInstances } from './roomInstances.ts';
import { ScaledRuns, type ScalerWishes } from './scaledRuns.ts';

export interface PageScalingOptions extends Omit<PageInstancesOptions, 'memory'> {
  readonly coordinator: Pick<Coordinator, 'state' | 'run'>;
  readonly memoryLimitBytes: number | null;
}

export class PageScaling {
  readonly instances: RoomInstances;
  readonly #options: PageScalingOptions;
  #current: ScaledRuns | null = null;

  constructor(options: PageScalingOptions) {
    this.#options = options;
    const { memoryLimitBytes: limitBytes, coordinator } = options;
    const roomBytes = () => coordinator.state.own.load?.heapBytes ?? 0;
    this.instances = createPageInstances({ ...options, memory: new MemoryLedger({ limitBytes, roomBytes }) });
  }

  /** The runs of a plan that is loaded; null without an objective. Throws USAGE. */
  scale(url: string, plan: PlanSummary, wishes: Partial<ScalerWishes>): ScaledRuns | null {
    const { slo } = wishes;
    if (slo === undefined) return null;
    const { self, coordinator, backend } = this.#options;
    this.#current = new ScaledRuns({
      self,
      plan,
      url,
      clock: systemClock,
      place: describePlan(url, location.origin, self),
      instances: this.instances,
      threads: threadChoices(backend),
      wishes: { ...wishes, slo },
      candidates: () => candidatesOf(coordinator),
      runOnRoom: (inputs, signal) => coordinator.run(inputs, { signal }),
    });
    return this.#current;
  }

  devicesChanged(): void {
    this.#current?.devicesChanged();
  }

  /** Another plan takes the place of the one that is loaded. */
  release(): void {
    this.#current?.close(new StarlingError('RUN_ABORTED', 'Another plan was loaded in its place.'));
    this.#current = null;
  }

  /** Ends everything; pending runs reject with `reason`. */
  close(reason: StarlingError): void {
    this.#current?.close(reason);
    this.instances.close(reason);
  }
}

/** Many instances of one thread each, or few of several: only where threads can be had. */
function threadChoices({ threads }: BackendInfo): number[] {
  return threads > 1 ? [threads, 1] : [1];
}

function candidatesOf({ state }: Pick<Coordinator, 'state'>): Candidate[] {
  const candidates: Candidate[] = [];
  for (const [id, status] of state.others) {
    if (status === null || state.excluded.has(id)) continue;
    candidates.push({ id, links: status.links, mayStop: status.mayStop });
  }
  return candidates;
}
