/** What the page has to classify with: plans of one network, dense and sparse, and pictures to try. Loads no plan. */
import * as v from 'valibot';
import { StarlingError } from '../../../protocol/errors.ts';

export const exchanges = ['sparse', 'dense'] as const;
export type Exchange = (typeof exchanges)[number];

const catalogueSchema = v.object({
  plans: v.array(
    v.object({
      exchange: v.picklist(exchanges),
      shards: v.pipe(v.number(), v.integer(), v.minValue(1)),
      path: v.string(),
    }),
  ),
  pictures: v.array(v.object({ path: v.string(), class: v.string() })),
});

export type CataloguePlan = v.InferOutput<typeof catalogueSchema>['plans'][number];

/** Paths are addresses. */
export type Catalogue = v.InferOutput<typeof catalogueSchema>;

/** Throws PLAN_NOT_FOUND. */
export async function readCatalogue(url: string): Promise<Catalogue> {
  const response = await fetch(url).catch(() => null);
  const json: unknown = await response?.json().catch(() => null);
  const parsed = v.safeParse(catalogueSchema, json);
  if (response?.ok !== true || !parsed.success) {
    throw new StarlingError(
      'PLAN_NOT_FOUND',
      `The catalogue of the networks that classify was expected at ${url}, and is not there; write it with examples/cifar10/publish.ts.`,
    );
  }
  const absolute = <Entry extends { readonly path: string }>(entry: Entry): Entry => ({
    ...entry,
    path: new URL(entry.path, url).href,
  });
  const { plans, pictures } = parsed.output;
  return { plans: plans.map(absolute), pictures: pictures.map(absolute) };
}

/**
 * The plan for so many devices: the fewest shards that give each of them one, else the most there are. Undefined where
 * there is none of this exchange.
 */
export function planFor(
  plans: readonly CataloguePlan[],
  exchange: Exchange,
  devices: number,
): CataloguePlan | undefined {
  const fitting = plans.filter((plan) => plan.exchange === exchange).sort((a, b) => a.shards - b.shards);
  return fitting.find(({ shards }) => shards >= devices) ?? fitting.at(-1);
}
