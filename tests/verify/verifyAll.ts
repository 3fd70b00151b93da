/**
 * `npm run verify:all`: every division and placement of the matrix and every negative control; an hour or two.
 * Goes on where an interrupted call stopped while the code is the same (`--fresh`: from the start).
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { formatCount, formatTable } from '../../cli/table.ts';
import { hasShared } from '../support/shared.ts';
import { type CompiledPlan, compilePlan } from './compilePlan.ts';
import { controlled, controlsOf, runControl } from './controls.ts';
import { entryName, type MatrixPlan, matrix, placementKinds, placementOf } from './matrix.ts';
import { type VerifyModel, verifyModels } from './models.ts';
import { type Original, openOriginal } from './original.ts';
import { currentCommit, type Entry, type Measured, readResults, upToDate, writeResults } from './results.ts';
import { tolerance, verifyEntry } from './verifyEntry.ts';

const seed = 1;
const commit = currentCommit();

// The collector does not see how large a wasm heap is: left alone it keeps dozens of them.
setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const { values } = parseArgs({
  options: {
    fresh: { type: 'boolean', default: false },
    /** Only models whose name holds this. */
    model: { type: 'string', default: '' },
    out: {
      type: 'string',
      default: fileURLToPath(new URL('../../bench/results/verify.json', import.meta.url)),
    },
  },
});

process.exitCode = await main();

async function main(): Promise<number> {
  if (!hasShared) return 1;
  const known = readResults(values.out);
  // A failure may have been the machine's.
  const done = new Set(
    values.fresh ? [] : upToDate(known.filter(({ passed }) => passed)).map(({ name }) => name),
  );
  const names = new Set(
    matrix()
      .flatMap(jobsOf)
      .map(({ name }) => name),
  );
  const entries = new Map(known.filter(({ name }) => names.has(name)).map((entry) => [entry.name, entry]));
  for (const model of verifyModels.filter(({ name }) => name.includes(values.model))) {
    await verifyModel(model, done, entries);
  }
  const all = [...entries.values()];
  process.stdout.write(`${table(all)}\n`);
  const failed = all.filter(({ passed }) => !passed);
  for (const entry of failed) process.stdout.write(`FAILED ${JSON.stringify(entry)}\n`);
  process.stdout.write(`${all.length - failed.length} passed, ${failed.length} failed\n`);
  return failed.length === 0 ? 0 : 1;
}

async function verifyModel(model: VerifyModel, done: ReadonlySet<string>, entries: Map<string, Entry>) {
  const plans = matrix([model]);
  let opened: Original | undefined;
  for (const [index, plan] of plans.entries()) {
    const waiting = jobsOf(plan).filter(({ name }) => !done.has(name));
    if (waiting.length === 0) continue;
    const start = performance.now();
    const original = opened ?? (await openOriginal(model, seed));
    opened = original;
    // A heap of its own for each plan, so that what one leaves behind is gone with it.
    const backend = await createHeapBackend();
    const compiling = compilePlan(plan, original.bytes, backend);
    for (const job of waiting) {
      const jobStart = performance.now();
      const entry = await compiling
        .then((compiled) => job.run({ compiled, original, backend }))
        .catch((thrown: unknown): Measured => {
          const error = thrown instanceof Error ? thrown.message : String(thrown);
          return { name: job.name, kind: 'error', passed: false, error };
        });
      const seconds = (performance.now() - jobStart) / 1000;
      entries.set(job.name, { ...entry, seconds, commit, date: new Date().toISOString().slice(0, 10) });
    }
    const results = waiting.map(({ name }) => entries.get(name)).filter((entry) => entry !== undefined);
    process.stdout.write(
      `${entryName(plan)} (${index + 1} of ${plans.length}): ${results.map(short).join(', ')}, ` +
        `${((performance.now() - start) / 1000).toFixed(1)} s\n`,
    );
    writeResults(values.out, { tolerance, entries: [...entries.values()] });
    collectGarbage();
  }
}

interface JobInput {
  readonly compiled: CompiledPlan;
  readonly original: Original;
  readonly backend: Awaited<ReturnType<typeof createHeapBackend>>;
}

interface Job {
  readonly name: string;
  run(input: JobInput): Promise<Measured>;
}

function jobsOf(plan: MatrixPlan): Job[] {
  const divisions = placementKinds.map((kind): Job => {
    const name = entryName(plan, kind);
    return {
      name,
      async run({ compiled, original, backend }) {
        const placement = placementOf(kind, plan.numShards);
        const result = await verifyEntry(compiled, original, placement, backend, seed);
        const passed = result.relativeError <= tolerance;
        return { name, kind: 'division', passed, ...result };
      },
    };
  });
  if (!controlled(plan)) return divisions;
  const controls = controlsOf(plan).map((kind): Job => {
    const name = entryName(plan, kind);
    return {
      name,
      async run({ compiled, original, backend }) {
        const { model } = plan;
        const input = { model, compiled, bytes: original.bytes, backend, seed };
        const relativeError = await runControl(kind, input);
        const passed = !(relativeError <= tolerance);
        return { name, kind: 'control', passed, relativeError };
      },
    };
  });
  return [...divisions, ...controls];
}

function short(entry: Entry): string {
  if (entry.kind === 'error') return `ERROR ${entry.error}`;
  const error = entry.relativeError.toExponential(1);
  const label = entry.kind === 'control' ? `fault ${error}` : error;
  return entry.passed ? label : `FAILED ${label}`;
}

/** One line a plan: the worst of its placements, and what it costs with one shard on each device. */
function table(entries: readonly Entry[]): string {
  const rows = entries.flatMap((entry) => {
    if (entry.kind !== 'division' || !entry.name.endsWith(' one each')) return [];
    const plan = entry.name.slice(0, -' one each'.length);
    const errors = entries
      .filter((other) => other.kind === 'division' && other.name.startsWith(`${plan} `))
      .map((other) => (other.kind === 'division' ? other.relativeError : 0));
    return [
      [
        plan,
        Math.max(...errors).toExponential(1),
        entry.rounds,
        formatCount(entry.bytesExchanged),
        formatCount(Math.max(...entry.macsPerShard)),
      ],
    ];
  });
  return formatTable([['plan', 'worst error', 'rounds', 'bytes', 'most MACs'], ...rows]);
}
