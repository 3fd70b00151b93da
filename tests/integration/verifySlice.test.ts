/**
 * A part of the matrix that `npm run verify:all` runs whole: another one every day, the same for everybody that day.
 * STARLING_SEED repeats a day's (its seed is printed).
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { seededRandom } from '../../graph/random.ts';
import type { Backend } from '../../runtime/backend.ts';
import { hasShared } from '../support/shared.ts';
import { type CompiledPlan, compilePlan } from '../verify/compilePlan.ts';
import { controlled, controlsOf, runControl } from '../verify/controls.ts';
import { entryName, type MatrixPlan, matrix, placementKinds, placementOf } from '../verify/matrix.ts';
import { type Original, openOriginal } from '../verify/original.ts';
import { tolerance, verifyEntry } from '../verify/verifyEntry.ts';

const seed = Number(
  process.env['STARLING_SEED'] ?? new Date().toISOString().slice(0, 10).replaceAll('-', ''),
);
/**
 * The inputs are those of `verify:all`. onnxruntime's sigmoid is exact to 6e-8, whatever its size: of a class that no sample
 * gives a score above 6e-4 even the same network in other kernels would be further apart than the tolerance.
 */
const inputSeed = 1;
const timeout = 120_000;

const shuffled = shuffle(matrix(), seededRandom(seed));
const light = shuffled.filter(({ model, numShards }) => !model.heavy && numShards > 1);
/** What compiles in seconds; a search for the best division of a large model does not. */
const heavy = shuffled.filter(
  ({ model, numShards, axis }) => model.heavy && numShards > 1 && numShards <= 4 && axis !== 'auto',
);
const divided = [...light.slice(0, 3), ...heavy.slice(0, 1)];
const spoilt = light.filter(controlled).slice(0, 2);

describe.skipIf(!hasShared)(`today's slice of the matrix, STARLING_SEED=${seed}`, () => {
  beforeAll(() => console.log(`Verifying with STARLING_SEED=${seed}.`));

  describe.each(divided.map((plan) => ({ name: entryName(plan), plan })))('$name', ({ plan }) => {
    const prepared = prepare(plan);
    it.each(placementKinds)('computes what the model computes: %s', { timeout }, async (kind) => {
      const { original, compiled, backend } = await prepared();
      const placement = placementOf(kind, plan.numShards);
      const { relativeError } = await verifyEntry(compiled, original, placement, backend, seed);
      expect(relativeError).toBeLessThanOrEqual(tolerance);
    });
  });

  describe.each(spoilt.map((plan) => ({ name: entryName(plan), plan })))('$name', ({ plan }) => {
    const prepared = prepare(plan);
    it.each(controlsOf(plan))('verify fails with a fault: %s', { timeout }, async (kind) => {
      const { original, compiled, backend } = await prepared();
      const { model } = plan;
      const input = { model, compiled, bytes: original.bytes, backend, seed };
      expect(await runControl(kind, input)).toBeGreaterThan(tolerance);
    });
  });
});

interface Prepared {
  readonly original: Original;
  readonly compiled: CompiledPlan;
  readonly backend: Backend;
}

/** On first use, so that a filtered or skipped run compiles nothing. */
function prepare(plan: MatrixPlan): () => Promise<Prepared> {
  let prepared: Promise<Prepared> | undefined;
  const make = async () => {
    const original = await openOriginal(plan.model, inputSeed);
    const backend = await createHeapBackend();
    return { original, compiled: await compilePlan(plan, original.bytes, backend), backend };
  };
  return () => {
    prepared ??= make();
    return prepared;
  };
}

function shuffle<T>(list: readonly T[], random: () => number): T[] {
  const result = [...list];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    const [a, b] = [result[i], result[j]];
    if (a !== undefined && b !== undefined) [result[i], result[j]] = [b, a];
  }
  return result;
}
