/** What was measured, made from the files in bench/results and from nothing else: a line each for the README, all of it for docs/measured.md. */
import {
  oneTabSection,
  tabsHeadline,
  tabsSection,
  thinnedHeadline,
  thinnedSection,
} from './figures/bench.ts';
import { compileSection } from './figures/compile.ts';
import { devicesSection } from './figures/devices.ts';
import { memoryHeadline, memorySection } from './figures/memory.ts';
import { repurposeSection } from './figures/repurpose.ts';
import { type Headline, markdownTable } from './figures/results.ts';
import { scalerHeadline, scalerSection } from './figures/scaler.ts';
import { sparseHeadline, sparseSection } from './figures/sparse.ts';
import { tasksSection } from './figures/tasks.ts';
import { trainingHeadline, trainingSection } from './figures/training.ts';
import { verifyHeadline, verifySection } from './figures/verify.ts';

const startMark = '<!-- figures:start -->';
const endMark = '<!-- figures:end -->';

/** In the order of the README; none where its file has not been made. */
const headlines: readonly (() => readonly Headline[])[] = [
  verifyHeadline,
  tabsHeadline,
  thinnedHeadline,
  sparseHeadline,
  trainingHeadline,
  memoryHeadline,
  scalerHeadline,
];

/** In the order of docs/measured.md; each is lines of Markdown, none where its file has not been made. */
const sections: readonly (() => readonly string[])[] = [
  verifySection,
  tasksSection,
  tabsSection,
  thinnedSection,
  oneTabSection,
  sparseSection,
  trainingSection,
  memorySection,
  compileSection,
  scalerSection,
  devicesSection,
  repurposeSection,
];

/** The README with its table of headlines made anew. */
export function withHeadlines(readme: string): string {
  const start = readme.indexOf(startMark);
  const end = readme.indexOf(endMark);
  if (start < 0 || end < start) throw new Error('README.md has lost the marks of its figures.');
  const rows = headlines.flatMap((headline) => headline()).map(({ what, figure }) => [what, figure]);
  const table = markdownTable(['measured', 'figure'], rows);
  return `${readme.slice(0, start + startMark.length)}\n${table}\n${readme.slice(end)}`;
}

/** All tables, as a page of their own. */
export function measuredPage(): string {
  const introduction = [
    '# Measured',
    '',
    'Every figure comes from a file in `bench/results`, written by the command named with it; `npm run docs:figures` makes',
    'this page of them. Times are ratios within one run, whose controls are named with them.',
    '',
  ];
  const text = [...introduction, ...sections.flatMap((section) => section())].join('\n').trim();
  // Pictures are linked from the root of the repository everywhere else.
  return `${text.replaceAll('](docs/', '](').replaceAll('](bench/', '](../bench/')}\n`;
}
