/**
 * Predicts runs of plans on the devices of a room, without fetching a weight: opens each plan's description once and
 * keeps its lowerings for the next question. Which placement is taken is decided on the page.
 */
import { StarlingError } from '../protocol/errors.ts';
import type { Plan } from '../runtime/plan.ts';
import type { LinkCost } from '../runtime/predict/costModel.ts';
import { Forecaster } from '../runtime/predict/forecast.ts';
import { yieldToMessages } from '../runtime/yieldToMessages.ts';
import type { ForecastQuestion, PlanForecast } from './api.ts';

interface OpenedPlan {
  readonly plan: Plan;
  readonly forecaster: Forecaster;
}

export class PlanForecasts {
  readonly #open: (url: string) => Promise<Plan>;
  readonly #plans = new Map<string, Promise<OpenedPlan>>();

  /** `open` reads plan.json and the graph at an address. */
  constructor(open: (url: string) => Promise<Plan>) {
    this.#open = open;
  }

  /** Rejects as opening a plan does; PLAN_UNREADABLE where the plans were made from different models. */
  async forecast({ urls, devices, links }: ForecastQuestion): Promise<PlanForecast[]> {
    for (const url of this.#plans.keys()) if (!urls.includes(url)) this.#plans.delete(url);
    const plans: OpenedPlan[] = [];
    for (const url of urls) plans.push(await this.#opened(url));
    checkOneModel(plans.map(({ plan }) => plan));
    const costs = new Map(links.map(({ from, to, cost }) => [`${from} ${to}`, cost]));
    const ids = devices.map(({ id }) => id);
    const room = {
      devices,
      links: (from: number, to: number): LinkCost | undefined =>
        costs.get(`${ids[from]} ${ids[to]}`) ?? costs.get(`${ids[to]} ${ids[from]}`),
    };
    const forecasts: PlanForecast[] = [];
    for (const [i, { plan, forecaster }] of plans.entries()) {
      const { sha256, file } = plan;
      for (const forecast of await forecaster.forecast(room, yieldToMessages)) {
        forecasts.push({ ...forecast, url: urls[i] ?? '', sha256, axis: file.metadata['axis'] ?? 'plan' });
      }
    }
    return forecasts;
  }

  #opened(url: string): Promise<OpenedPlan> {
    const known = this.#plans.get(url);
    if (known !== undefined) return known;
    const opening = this.#open(url).then((plan) => ({
      plan,
      forecaster: new Forecaster(plan.model.graph, plan.division),
    }));
    this.#plans.set(url, opening);
    // What could not be read may be there the next time.
    opening.catch(() => this.#plans.delete(url));
    return opening;
  }
}

/** Throws PLAN_UNREADABLE. */
function checkOneModel(plans: readonly Plan[]): void {
  const [first, ...others] = plans;
  for (const { file } of others) {
    if (first === undefined || file.source.sha256 === first.file.source.sha256) continue;
    throw new StarlingError(
      'PLAN_UNREADABLE',
      `Plans that are loaded together are of one model, but "${first.file.name}" and "${file.name}" were compiled from different files; load them one after the other.`,
    );
  }
  const ends = ({ file: { inputs, outputs } }: Plan) => JSON.stringify([inputs, outputs]);
  const other = others.find((plan) => first !== undefined && ends(plan) !== ends(first));
  if (other === undefined) return;
  throw new StarlingError(
    'PLAN_UNREADABLE',
    `Plans that are loaded together take and give the same tensors, but "${other.file.name}" (${other.sha256.slice(0, 8)}) has others than the first; compile them with the same shapes and pixels.`,
  );
}
