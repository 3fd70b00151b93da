/** What the scaler's benchmark prints. */
import type { Objective, WayResult } from './measure.ts';

export interface Part {
  readonly part: 'main' | 'sizes' | 'link' | 'way';
  readonly title: string;
  readonly objective: Objective;
  readonly results: readonly WayResult[];
}

export function partTable({ title, objective, results }: Part): string {
  const rows = results.map(
    ({
      way,
      load,
      batch,
      instances,
      within,
      throughput,
      perSecondP10,
      perSecondP90,
      p95Ms,
      cpuSecondsPerItem,
    }) =>
      [
        load,
        way,
        `${batch}, ${instances}`,
        `${within} of ${throughput} (${perSecondP10} to ${perSecondP90})`,
        p95Ms,
        cpuSecondsPerItem === null ? '' : (1000 * cpuSecondsPerItem).toFixed(1),
      ].join(' | '),
  );
  return [
    `${title}; 95 of 100 within ${objective.p95Ms} ms`,
    'load | way | batch, instances | a second within the objective, of all (10th to 90th percentile) | p95 ms | CPU ms an item',
    ...rows,
  ].join('\n');
}
