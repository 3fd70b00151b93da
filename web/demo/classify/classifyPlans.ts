/** Which of the catalogue's plans the room takes, and whether it has it already. Shows nothing. */
import { StarlingError } from '../../../protocol/errors.ts';
import type { Session } from '../../session.ts';
import { type Catalogue, type Exchange, exchanges, planFor, readCatalogue } from './catalogue.ts';

export interface PlanPorts {
  /** Devices of the room, this one included. */
  devices(): Promise<number>;
  /** The page's session with the plan at this address, loaded where it is not yet. */
  session(plan: string): Promise<Session>;
  isLoaded(plan: string): boolean;
}

export interface ClassifyPlans {
  catalogue(): Promise<Catalogue>;
  load(exchange: Exchange): Promise<Session>;
  loaded(): Exchange | null;
}

export function createClassifyPlans(url: string, { devices, session, isLoaded }: PlanPorts): ClassifyPlans {
  let known: Promise<Catalogue> | null = null;
  /** The address that was taken for each exchange. */
  const taken = new Map<Exchange, string>();
  const catalogue = () => {
    known ??= readCatalogue(url);
    // What was not there may be the next time.
    known.catch(() => {
      known = null;
    });
    return known;
  };
  return {
    catalogue,
    async load(exchange) {
      const { plans } = await catalogue();
      const plan = planFor(plans, exchange, await devices());
      if (plan === undefined)
        throw new StarlingError('PLAN_NOT_FOUND', `The catalogue at ${url} has no ${exchange} plan.`);
      taken.set(exchange, plan.path);
      return session(plan.path);
    },
    loaded: () => exchanges.find((exchange) => isLoaded(taken.get(exchange) ?? '')) ?? null,
  };
}
