/** One scenario of one model, opened and ready: what can be run again and again. */
import type { Browser, Page } from '@playwright/test';
import type { BenchModel } from './models.ts';
import type { PageModel, PageRun } from './page/benchPage.ts';
import type { BenchPlan } from './plans.ts';
import { type BenchDivision, megabitsOf, type Scenario, titleOf } from './scenarios.ts';
import type { BenchSite } from './site.ts';
import type { SlowLink } from './slowLink.ts';

export interface Subject {
  readonly scenario: Scenario;
  readonly plan: BenchPlan | null;
  /** Largest difference to the original model, relative to its largest value. */
  readonly relativeError: number;
  /** Comes before a group of runs. */
  prepare(): void;
  run(count: number, timeline: boolean): Promise<PageRun[]>;
  /** Runs per second with several in flight, over at least so long. */
  throughput(ms: number): Promise<number>;
}

export interface Stage {
  readonly site: BenchSite;
  readonly browser: Browser;
  /** Where links may be slow: the link, its two browsers, and the page as they see it. */
  readonly slow: {
    readonly link: SlowLink;
    readonly browsers: readonly [Browser, Browser];
    readonly pageUrl: string;
  } | null;
}

export interface Opened {
  readonly subjects: readonly Subject[];
  close(): Promise<void>;
}

/**
 * Of the two copies that take runs in turns, where that is the point of a division: a room without copies takes one run
 * after the other, and a pipeline would never be filled.
 */
const instanceDevices: { readonly [Division in BenchDivision]?: number } = { layers: 2, requests: 1 };

/** Two for each device: one that computes and one that is there when it has finished. */
const runsInFlight = 4;

/** What takes longer over its link says nothing that its bytes do not say. */
const longestRunSeconds = 3;

/** Opens the scenarios of a model, each in tabs of its own. Links share the tabs of their division. */
export async function openSubjects(
  { site, browser, slow }: Stage,
  model: BenchModel,
  scenarios: readonly Scenario[],
  tell: (what: string) => void,
): Promise<Opened> {
  const pageModel = await site.plans.model(model);
  const pages: Page[] = [];
  const rooms = new Map<string, Promise<{ readonly page: Page; readonly relativeError: number }>>();
  const open = async (where: Browser, url: string): Promise<Page> => {
    const page = await where.newPage();
    pages.push(page);
    await page.goto(url);
    await page.waitForFunction(() => window.benchPage !== undefined);
    return page;
  };
  const openRoom = async (plan: BenchPlan, name: string, shaped: boolean, perInstance: number | null) => {
    if (shaped && slow === null) throw new Error('There is no slow link here.');
    const places =
      shaped && slow !== null
        ? slow.browsers.map((one) => [one, slow.pageUrl] as const)
        : [0, 1].map(() => [browser, site.pageUrl] as const);
    slow?.link.setSpeed(null);
    const [host, other] = await Promise.all(places.map(([one, url]) => open(one, url)));
    if (host === undefined || other === undefined) throw new Error('No page.');
    for (const page of [host, other]) await page.evaluate((room) => window.benchPage.join(room), name);
    await load(host, pageModel, plan, perInstance);
    if (perInstance === null)
      await host.waitForFunction(() => window.benchPage.numReady() === 2, null, { timeout: 120_000 });
    return {
      page: host,
      relativeError: await host.evaluate((given) => window.benchPage.check(given), pageModel),
    };
  };
  const subjects: Subject[] = [];
  for (const scenario of scenarios) {
    const plan =
      scenario.kind === 'plain' ? null : await site.plans.plan(model, scenario, megabitsOf(scenario));
    const seconds = plan === null ? 0 : secondsOnLink(scenario, plan);
    if (seconds > longestRunSeconds) {
      tell(`skipping ${model.id}: ${titleOf(scenario)}; a run would take ${seconds.toFixed(0)} s`);
      continue;
    }
    tell(`opening ${model.id}: ${titleOf(scenario)}`);
    let page: Page;
    let relativeError: number;
    let prepare = () => {};
    if (scenario.kind === 'two-tabs') {
      const megabits = megabitsOf(scenario);
      const ends = megabits === null ? 'unshaped' : 'shaped';
      const key =
        scenario.division === 'auto'
          ? `${model.id}-auto-${scenario.link}`
          : `${model.id}-${scenario.division}-${scenario.kept ?? ''}-${ends}`;
      const room =
        rooms.get(key) ??
        openRoom(plan as BenchPlan, key, megabits !== null, instanceDevices[scenario.division] ?? null);
      rooms.set(key, room);
      ({ page, relativeError } = await room);
      if (megabits !== null) prepare = () => slow?.link.setSpeed(megabits);
    } else {
      page = await open(browser, site.pageUrl);
      if (scenario.kind === 'plain') {
        relativeError = await page.evaluate((given) => window.benchPage.openPlain(given), pageModel);
      } else if (scenario.kind === 'stages') {
        relativeError = await page.evaluate(([given, url]) => window.benchPage.openStages(given, url), [
          pageModel,
          plan?.url ?? '',
        ] as const);
      } else {
        const key = `${model.id}-${scenario.division}-${scenario.numShards}-alone`;
        await page.evaluate((room) => window.benchPage.join(room), key);
        relativeError = await load(page, pageModel, plan as BenchPlan, null);
      }
    }
    subjects.push({
      scenario,
      plan,
      relativeError,
      prepare,
      run: (count, timeline) =>
        page.evaluate(([n, noted]) => window.benchPage.run(n, noted), [count, timeline] as const),
      // The plain session and stages in one Worker take one run at a time.
      throughput: (ms) =>
        page.evaluate(([long, many]) => window.benchPage.throughput(long, many), [
          ms,
          scenario.kind === 'two-tabs' || scenario.kind === 'one-tab' ? runsInFlight : 1,
        ] as const),
    });
  }
  return {
    subjects,
    async close() {
      for (const page of pages) await page.close();
    },
  };
}

/** At best: each device sends its half at the link's full speed. */
function secondsOnLink(scenario: Scenario, { traffic }: BenchPlan): number {
  const megabits = megabitsOf(scenario);
  return megabits === null ? 0 : (traffic.exchangedBytes * 8) / 2 / (megabits * 1e6);
}

function load(
  page: Page,
  model: PageModel,
  plan: BenchPlan,
  instanceDevices: number | null,
): Promise<number> {
  return page.evaluate(([given, url, devices]) => window.benchPage.load(given, url, devices), [
    model,
    plan.url,
    instanceDevices,
  ] as const);
}
