/** The README's section "Measured", made from the files in bench/results and from nothing else. */
import { oneTabSection, tabsSection, thinnedSection } from './figures/bench.ts';
import { compileSection } from './figures/compile.ts';
import { devicesSection } from './figures/devices.ts';
import { memorySection } from './figures/memory.ts';
import { repurposeSection } from './figures/repurpose.ts';
import { scalerSection } from './figures/scaler.ts';
import { sparseSection } from './figures/sparse.ts';
import { tasksSection } from './figures/tasks.ts';
import { trainingSection } from './figures/training.ts';
import { verifySection } from './figures/verify.ts';

const startMark = '<!-- figures:start -->';
const endMark = '<!-- figures:end -->';

/** In the order of the README; each is lines of Markdown, none where its file has not been made. */
const sections: readonly (() => readonly string[])[] = [
  verifySection,
  tasksSection,
  sparseSection,
  repurposeSection,
  trainingSection,
  tabsSection,
  thinnedSection,
  oneTabSection,
  memorySection,
  compileSection,
  devicesSection,
  scalerSection,
];

/** The text between the marks. */
export function readmeFigures(): string {
  return sections
    .flatMap((section) => section())
    .join('\n')
    .trim();
}

/** The README with its figures made anew. */
export function withFigures(readme: string): string {
  const start = readme.indexOf(startMark);
  const end = readme.indexOf(endMark);
  if (start < 0 || end < start) throw new Error('README.md has lost the marks of its figures.');
  return `${readme.slice(0, start + startMark.length)}\n${readmeFigures()}\n${readme.slice(end)}`;
}
