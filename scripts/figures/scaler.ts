/** The tables of the scaler: in virtual time, and in real tabs. */
import { type Headline, markdownTable, networkOf, percent, type Row, readResult } from './results.ts';

interface SimulatorFile {
  readonly estimatorError: number;
  readonly chosenWithinOneStep: Readonly<Record<string, number>>;
  readonly networks: number;
  readonly violations: { readonly share: number };
  readonly regret: { readonly mean: number; readonly max: number };
  readonly curveCases: number;
  readonly seeds: number;
  readonly jointOverBest: { readonly mean: number; readonly min: number; readonly below: number };
}

function simulated(): string[] {
  const file = readResult<SimulatorFile>('scaler-sim.json');
  if (file === undefined) return [];
  const chosen = Object.entries(file.chosenWithinOneStep).map(
    ([share, count]): Row => [
      `instances within one step of the best, objective ${share} x L10`,
      `${count} of ${file.networks}`,
    ],
  );
  return [
    '**The scaler, simulated.** Measured latencies of 18 networks replayed on a virtual clock (`npm run bench:scaler-sim`).',
    '',
    markdownTable(
      ['figure', 'value'],
      [
        ['error of the latency estimate, network left out', percent(file.estimatorError)],
        ...chosen,
        ['windows over the objective after convergence', percent(file.violations.share)],
        [
          'joint: regret against trying everything, mean and largest',
          `${percent(file.regret.mean)}, ${percent(file.regret.max)}`,
        ],
        [
          `joint over the best of batching, tenancy and Clipper: mean and least of ${file.curveCases} cases (${file.seeds} runs each), and cases below 1 by more than noise`,
          `${file.jointOverBest.mean.toFixed(2)}, ${file.jointOverBest.min.toFixed(3)}, ${file.jointOverBest.below}`,
        ],
      ],
    ),
    '',
  ];
}

interface ScalerFile {
  readonly date: string;
  readonly commit: string;
  readonly secondsPerWay: number;
  readonly controls: {
    readonly before: { readonly ratio: number };
    /** Null where the run was ended before all was measured. */
    readonly after: { readonly ratio: number } | null;
    readonly quiet: boolean;
  };
  readonly parts: readonly {
    readonly part: string;
    readonly title: string;
    readonly objective: { readonly p95Ms: number };
    readonly results: readonly WayResult[];
  }[];
}

interface WayResult {
  readonly way: string;
  readonly load: string;
  readonly batch: number;
  readonly instances: number;
  readonly n: number;
  readonly within: number;
  readonly withinRounds?: readonly number[];
  readonly perSecondP10: number;
  readonly perSecondP90: number;
  readonly p95Ms: number;
  readonly cpuSecondsPerItem: number | null;
}

/** What is known by its fixed setting is one point of the exhaustive grid; of these the best is shown, and (1, 1). */
function shownWays(results: readonly WayResult[]): WayResult[] {
  const fixed = results.filter(({ way, load }) => way.startsWith('(') && load === 'steady');
  // The best one was measured again in turn with what adapts; before, it was lucky.
  const inTurn = fixed.filter(({ withinRounds }) => withinRounds !== undefined);
  const best = (inTurn.length > 0 ? inTurn : fixed).reduce<WayResult | null>(
    (a, b) => (a !== null && a.within >= b.within ? a : b),
    null,
  );
  const kept = [best?.way, '(1, 1)'];
  // A grid is known by its size; the few settings of the link are all shown.
  const isGrid = fixed.length > 5;
  return results.filter(({ way }) => !isGrid || !way.startsWith('(') || kept.includes(way));
}

/** Of the rounds where there were several, else of single seconds. */
function spread({ withinRounds = [], perSecondP10, perSecondP90 }: WayResult): string {
  return withinRounds.length > 1 ? `${withinRounds.join(', ')}` : `${perSecondP10} to ${perSecondP90}`;
}

function inTabs(): string[] {
  const file = readResult<ScalerFile>('scaler.json');
  if (file === undefined) return [];
  const { before, after, quiet } = file.controls;
  const rows = file.parts.flatMap(({ title, objective, results }) =>
    shownWays(results).map((one): Row => {
      const alone = results.find(({ way, load }) => way === '(1, 1)' && load === one.load);
      const ratio = alone === undefined || !quiet ? '' : (one.within / alone.within).toFixed(2);
      return [
        `${title}, within ${objective.p95Ms} ms`,
        one.load,
        one.way.startsWith('(') ? `fixed ${one.way}` : `${one.way}: (${one.batch}, ${one.instances})`,
        `${one.within} (${spread(one)}; n = ${one.n})`,
        ratio,
        one.p95Ms,
        one.cpuSecondsPerItem === null ? '' : (1000 * one.cpuSecondsPerItem).toFixed(1),
      ];
    }),
  );
  const verdict = quiet ? 'quiet enough for ratios' : 'too busy for ratios, which are therefore left out';
  return [
    `**The scaler in tabs.** Two Chromium tabs of one thread each on a machine of two cores (\`npm run bench:scaler\`), ${file.secondsPerWay} s each way, ${file.date.slice(0, 10)}, commit ${file.commit.slice(0, 7)}. A setting is (batch, instances); of the fixed ones, all of a grid, the best is shown; it and all that adapt were measured in turn, several rounds. Control: two rooms of one tab do ${before.ratio.toFixed(2)} times (after: ${after === null ? 'not measured, the run was ended before' : after.ratio.toFixed(2)}) the runs of one; the machine was ${verdict}.`,
    '',
    markdownTable(
      [
        'network and objective',
        'load',
        'setting',
        'a second within the objective (of each round, or 10th to 90th percentile of seconds)',
        'x (1, 1)',
        'p95 ms',
        'CPU ms an item',
      ],
      rows,
    ),
    '',
  ];
}

/** The parts that the README names, and how. */
const namedParts: Readonly<Record<string, (title: string) => string>> = {
  main: networkOf,
  way: () => 'two tabs 40 ms from each other and back',
};

/** What choosing both knobs serves within the objective, against single runs and the best of a whole grid. */
export function scalerHeadline(): Headline[] {
  const file = readResult<ScalerFile>('scaler.json');
  if (file?.controls.quiet !== true) return [];
  const named = file.parts.flatMap(({ part, title, results }) => {
    const name = namedParts[part];
    if (name === undefined) return [];
    const steady = results.filter(({ load }) => load === 'steady');
    const [joint, alone] = ['joint', '(1, 1)'].map((name) => steady.find(({ way }) => way === name));
    return joint === undefined || alone === undefined
      ? []
      : `${name(title)} ${(joint.within / alone.within).toFixed(1)}x`;
  });
  return [
    { what: 'runs served within their objective, chosen against one at a time', figure: named.join('; ') },
  ];
}

export function scalerSection(): string[] {
  return [...simulated(), ...inTabs()];
}
