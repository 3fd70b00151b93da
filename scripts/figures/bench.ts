/** Times in tabs of a browser: bench/results/bench.json, one-tab.json and thinned.json, all of one format. */
import { type Headline, markdownTable, networkOf, type Row, readResult } from './results.ts';
import { thinnedQuality } from './thinnedQuality.ts';

interface BenchFile {
  readonly date: string;
  readonly commit: string;
  readonly machine: { readonly scheduling?: string | null; readonly realTimeSliceMs?: number | null };
  readonly controls: {
    readonly twoTabs: { readonly before: Control; readonly after: Control; readonly quiet: boolean };
  };
  readonly models: readonly {
    readonly model: string;
    readonly title: string;
    readonly results: readonly BenchResult[];
  }[];
}

interface Control {
  readonly ratio: number;
}

interface BenchResult {
  readonly scenario: {
    readonly kind: string;
    readonly link?: string;
    readonly division?: string;
    readonly kept?: number;
  };
  readonly title: string;
  readonly relativeError: number;
  readonly medianMs: number;
  readonly p10Ms: number;
  readonly p90Ms: number;
  readonly runs: number;
  readonly toPlain: number | null;
  readonly target: number | null;
  readonly throughput?: { readonly perSecond: number; readonly toPlain: number | null } | null;
  readonly predicted?: { readonly ms: number; readonly ratio: number | null } | null;
  readonly whole: { readonly ratio: number | null; readonly computeRatio: number | null } | null;
  readonly traffic: { readonly rounds: number; readonly exchangedBytes: number } | null;
}

const realTime = ['SCHED_RR', 'SCHED_FIFO'];

/** Where and how it was measured, and what the controls say. */
function circumstances({ date, commit, machine, controls, models }: BenchFile): string {
  const { before, after, quiet } = controls.twoTabs;
  const counts = [...new Set(models.flatMap(({ results }) => results.map(({ runs }) => runs)))];
  const { scheduling, realTimeSliceMs = null } = machine;
  const slice = realTimeSliceMs === null ? '' : `, turns of ${realTimeSliceMs} ms`;
  const first = realTime.includes(scheduling ?? '') ? ` (in a real-time scheduling class${slice})` : '';
  const verdict = quiet ? 'quiet enough for ratios' : 'too busy for ratios, which are therefore left out';
  return `Chromium tabs on one machine of two cores${first}, one thread a tab; medians of ${counts.join(' or ')} runs, 10th to 90th percentile, and time over that of one tab with the original model. ${date.slice(0, 10)}, commit ${commit.slice(0, 7)}. Control: two plain tabs at once do ${before.ratio.toFixed(2)} times (after: ${after.ratio.toFixed(2)}) the runs of one; the machine was ${verdict}.`;
}

function milliseconds({ medianMs, p10Ms, p90Ms, toPlain }: BenchResult): string {
  const digits = medianMs < 100 ? 1 : 0;
  const [median, low, high] = [medianMs, p10Ms, p90Ms].map((ms) => ms.toFixed(digits));
  return `${median} [${low}–${high}]${toPlain === null || toPlain === 1 ? '' : `, ${toPlain.toFixed(2)}x`}`;
}

/** A gain below this is not named. */
const worthNaming = 1.05;

const plain = ({ scenario }: BenchResult) => scenario.kind === 'plain';

export function tabsSection(): string[] {
  const file = readResult<BenchFile>('bench.json');
  if (file === undefined) return [];
  const all = file.models.flatMap(({ results }) => results);
  const two = all.filter(({ scenario }) => scenario.kind === 'two-tabs');
  const divisions = [...new Set(two.map(({ scenario }) => scenario.division ?? ''))];
  const rows = file.models.flatMap(({ title, results }) => {
    const links = new Set(results.flatMap(({ scenario }) => scenario.link ?? []));
    const one = results.find(plain);
    return [...links].map((link): Row => {
      const cells = divisions.map((division) => {
        const found = results.find(
          ({ scenario }) => scenario.division === division && scenario.link === link,
        );
        return found === undefined ? '' : milliseconds(found);
      });
      return [title, link, one === undefined ? '' : milliseconds(one), ...cells];
    });
  });
  const ratios = two.flatMap(({ predicted }) => predicted?.ratio ?? []).sort((a, b) => a - b);
  const within = ratios.filter((ratio) => ratio >= 0.75 && ratio <= 1.25).length;
  return [
    `**Time of two tabs, exact.** \`npm run bench\`: ${circumstances(file)} The cost model's predictions were within a quarter of what was measured for ${within} of ${ratios.length}, ${ratios[0]?.toFixed(2)} to ${ratios.at(-1)?.toFixed(2)} of it.`,
    '',
    markdownTable(['model', 'link', 'one tab, ms', ...divisions.map((name) => `two tabs, ${name}`)], rows),
    '',
  ];
}

/** Of every model the plan that is taken for the link, against one tab; those that stay on one tab are counted. */
export function tabsHeadline(): Headline[] {
  const file = readResult<BenchFile>('bench.json');
  if (file?.controls.twoTabs.quiet !== true) return [];
  const links = ['unshaped', '50mbit'];
  return links.flatMap((link) => {
    const gains = file.models.flatMap(({ title, results }) => {
      const auto = results.find(
        ({ scenario }) => scenario.division === 'auto' && (scenario.link ?? '') === link,
      );
      return auto?.toPlain == null ? [] : [{ title: networkOf(title), gain: 1 / auto.toPlain }];
    });
    const faster = gains.filter(({ gain }) => gain >= worthNaming).sort((a, b) => b.gain - a.gain);
    const named = faster.map(({ title, gain }) => `${title} ${gain.toFixed(2)}x as fast`);
    const rest = gains.length - faster.length;
    if (rest > 0) named.push(`the other ${rest} within 5 % of one`);
    const where = link === 'unshaped' ? 'on an unshaped link' : `at ${link.replace('mbit', ' Mbit/s')}`;
    return named.length === 0
      ? []
      : [{ what: `two tabs against one, exact, ${where}`, figure: named.join('; ') }];
  });
}

export function thinnedHeadline(): Headline[] {
  const file = readResult<BenchFile>('thinned.json');
  if (file?.controls.twoTabs.quiet !== true) return [];
  const gains = file.models.flatMap(({ model, title, results }) => {
    const slow = results.filter(({ scenario }) => scenario.link === '50mbit');
    const dense = slow.find(({ scenario }) => scenario.division === 'channels');
    if (dense === undefined) return [];
    return slow
      .filter(({ scenario }) => scenario.division === 'sparse')
      .map(({ scenario: { kept }, traffic, medianMs }) => {
        const bytes = (dense.traffic?.exchangedBytes ?? 0) / (traffic?.exchangedBytes ?? 1);
        const figure = thinnedQuality(model, kept);
        const quality = figure === undefined ? '' : `, ${figure}`;
        return `${networkOf(title)} with ${kept} kept ${(dense.medianMs / medianMs).toFixed(1)}x as fast with ${bytes.toFixed(1)}x fewer bytes${quality}`;
      });
  });
  return gains.length === 0
    ? []
    : [
        {
          what: 'a thinned exchange against a dense one, two tabs at 50 Mbit/s',
          figure: gains.join('; '),
        },
      ];
}

export function thinnedSection(): string[] {
  const file = readResult<BenchFile>('thinned.json');
  if (file === undefined) return [];
  const rows = file.models.flatMap(({ model, title, results }) =>
    results.map((one): Row => {
      const { throughput, traffic } = one;
      const rate =
        throughput == null
          ? ''
          : `${throughput.perSecond.toFixed(1)}${throughput.toPlain === null ? '' : ` (${throughput.toPlain.toFixed(2)}x)`}`;
      return [
        title,
        one.title,
        milliseconds(one),
        rate,
        traffic?.rounds ?? '',
        traffic === null ? '' : (traffic.exchangedBytes / 1e6).toFixed(2),
        (one.scenario.division === 'sparse' ? thinnedQuality(model, one.scenario.kept) : undefined) ??
          `as the model, within ${one.relativeError.toExponential(0)}`,
      ];
    }),
  );
  return [
    `**A thinned exchange, and what others do.** A part of the features, each number as a byte, made after training without labels, beside exact divisions, a pipeline of whole layers, and whole models on each device; runs per second with four in flight. ${circumstances(file)} Quality: of the thinned plan its figure and the original's; of exact ones the error of one picture, of its largest value.`,
    '',
    markdownTable(['model', 'what', 'ms', 'runs/s', 'rounds', 'MB exchanged', 'quality'], rows),
    '',
  ];
}

export function oneTabSection(): string[] {
  const file = readResult<BenchFile>('one-tab.json');
  if (file === undefined) return [];
  const rows = file.models.flatMap(({ title, results }) =>
    results.map((one): Row => {
      const ratio = one.whole === null ? one.toPlain : one.whole.ratio;
      return [title, one.title, milliseconds(one), ratio?.toFixed(2) ?? '', one.target ?? ''];
    }),
  );
  return [
    `**What dividing costs where there is nobody to share with.** All shards in one tab, and the stages of two devices in one Worker against the same nodes as one session a device. ${circumstances(file)}`,
    '',
    markdownTable(['model', 'what', 'ms', 'ratio', 'wanted at most'], rows),
    '',
  ];
}
