/** Rows of bench/results/training.json from the folders of trainings: what is settled so far, and the picture of each. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { trainingChart } from '../cli/charts/trainingChart.ts';
import { type CurveFile, readCurve } from '../cli/trainingCurve.ts';
import { readLog } from '../cli/trainingFolder.ts';

export interface TrainingRow {
  readonly name: string;
  readonly date: string;
  readonly commit: string;
  /** Steps done, and of the whole course. */
  readonly step: number;
  readonly steps: number;
  readonly seconds: number;
  readonly seed: number;
  readonly settings: Readonly<Record<string, string | number>>;
  readonly dense: CurveFile['dense'];
  readonly teacher?: CurveFile['teacher'];
  readonly levels: readonly (CurveFile['levels'][number] & { readonly figures?: Figures })[];
  /** Of the original, by the task that measures the levels. */
  readonly original?: Figures;
}

export type Figures = Readonly<Record<string, number>>;

/** Of the repository: what is committed. */
const committed = fileURLToPath(new URL('results/', import.meta.url));

export function readRows(folder = committed): readonly TrainingRow[] {
  const results = join(folder, 'training.json');
  return existsSync(results) ? (JSON.parse(readFileSync(results, 'utf8')) as TrainingRow[]) : [];
}

export function figuresPath(folder: string, keep: number | 'original'): string {
  return join(folder, keep === 'original' ? 'original.json' : `kept-${keep}/figures.json`);
}

/** Undefined where nothing is settled yet. */
async function rowOf(name: string, folder: string, commit: string): Promise<TrainingRow | undefined> {
  const curve = await readCurve(join(folder, 'curve.json'));
  if (curve === undefined || curve.levels.length === 0) return undefined;
  const settings = published(readJson(join(folder, 'settings.json')) ?? {});
  const log = await readLog(join(folder, 'log.jsonl'));
  const original = readJson<Figures>(figuresPath(folder, 'original'));
  return {
    name,
    date: new Date().toISOString().slice(0, 10),
    commit,
    step: log.at(-1)?.step ?? 0,
    steps: Number(settings['steps']),
    seconds: Math.max(...curve.levels.map(({ seconds }) => seconds)),
    seed: Number(settings['seed']),
    settings,
    dense: curve.dense,
    ...(curve.teacher === undefined ? {} : { teacher: curve.teacher }),
    levels: curve.levels.map((level) => {
      const figures = readJson<Figures>(figuresPath(folder, level.keep));
      return { ...level, ...(figures === undefined ? {} : { figures }) };
    }),
    ...(original === undefined ? {} : { original }),
  };
}

/** Where a file lies on this machine is nobody's business: a path becomes what it ends with in ../shared. */
function published(settings: Record<string, string | number>): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.replace(/^.*\/shared\//, '') : value,
    ]),
  );
}

/** A run is over when its course is. */
export function isComplete(row: TrainingRow | undefined): boolean {
  if (row === undefined) return false;
  const levels = String(row.settings['levels'])
    .split(',')
    .filter((level) => level !== '');
  const wanted = new Set([...levels.map(Number), Number(row.settings['keep'])]);
  return (
    row.step >= row.steps && [...wanted].every((keep) => row.levels.some((level) => level.keep === keep))
  );
}

/** Reads a folder of a training, and writes its row and its picture where they changed: what is committed stays otherwise. */
export async function collect(
  name: string,
  folder: string,
  commit: string,
  into = committed,
): Promise<TrainingRow | undefined> {
  const row = await rowOf(name, folder, commit);
  if (row === undefined) return undefined;
  const rows = readRows(into);
  const before = rows.find((other) => other.name === name);
  if (before !== undefined && sameFigures(before, row)) return before;
  const others = rows.filter((other) => other.name !== name);
  const lines = [...others, row].map((one) => JSON.stringify(one)).join(',\n');
  const charts = join(into, 'training');
  mkdirSync(charts, { recursive: true });
  writeFileSync(join(into, 'training.json'), `[\n${lines}\n]\n`);
  const svg = trainingChart(await readLog(join(folder, 'log.jsonl')), row.levels);
  writeFileSync(join(charts, `${name.replaceAll('/', '-')}.svg`), svg);
  return row;
}

function sameFigures(a: TrainingRow, b: TrainingRow): boolean {
  const essence = ({ settings, dense, levels, original, step }: TrainingRow) =>
    JSON.stringify([settings, dense, levels, original, step]);
  return essence(a) === essence(b);
}

function readJson<T>(path: string): T | undefined {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as T) : undefined;
}
