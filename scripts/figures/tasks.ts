/** Accuracy through the shards and by the original: bench/results/tasks.json. */
import { markdownTable, origins, type Row, readResult, short } from './results.ts';

export interface TaskResult {
  readonly name: string;
  readonly commit: string;
  readonly date: string;
  readonly figures: Readonly<Record<string, number>>;
  readonly original: Readonly<Record<string, number>>;
}

export function tasksSection(): string[] {
  const results = readResult<readonly TaskResult[]>('tasks.json');
  if (results === undefined) return [];
  const rows = results.flatMap(({ name, figures, original }) =>
    Object.keys(figures).map(
      (figure): Row => [name, figure, short(original[figure]), short(figures[figure])],
    ),
  );
  return [
    `**The same figures.** \`npm run eval:all\`, through the shards and by the original. ${origins(results)}.`,
    '',
    markdownTable(['model', 'figure', 'original', 'through the shards'], rows),
    '',
  ];
}
