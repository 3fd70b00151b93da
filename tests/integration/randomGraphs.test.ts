/** Any network of our operators, divided in any way over any devices, computes what it computes whole. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { divideByChannels } from '../../compiler/divide/divideChannels.ts';
import { divideByRows } from '../../compiler/divide/divideRows.ts';
import { Comparator } from '../../compiler/measure/compare.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import { placements, randomDivision, randomModel, randomSupports } from '../support/randomGraph.ts';

const kinds = ['channels', 'rows', 'any', 'sparse'] as const;

const cases = fc
  .record({
    seed: fc.nat(),
    length: fc.integer({ min: 1, max: 14 }),
    numShards: fc.integer({ min: 1, max: 6 }),
    kind: fc.constantFrom(...kinds),
  })
  .chain((record) => placements(record.numShards).map((placement) => ({ ...record, placement })));

const dividers: Record<(typeof kinds)[number], (...args: Parameters<typeof randomDivision>) => Division> = {
  channels: divideByChannels,
  rows: divideByRows,
  any: randomDivision,
  sparse: divideByChannels,
};

test('random networks, divisions and placements equal the whole', async () => {
  const backend = await createHeapBackend();
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, length, numShards, kind, placement }) => {
      const dense = randomModel(seed, length);
      const divided = { model: dense, division: dividers[kind](dense.graph, numShards, seed) };
      const { model, division } = kind === 'sparse' ? randomSupports(dense, divided.division, seed) : divided;
      const [input] = model.graph.inputs;
      const dims = (input?.shape ?? []).map(Number);
      const x = randomTensor('float32', dims, seededRandom(seed + 1));
      const session = await backend.createSession(saveModel(model).bytes);
      const expected = await runWhole(session, backend, { x });
      await session.release();
      // The room gets the weights that the sparse function leaves out, too: it must not read them.
      const plan = {
        model: dense,
        division,
        openBatch: false,
        weights: wholeWeights(dense),
      };
      const room = await openLocalRoom({
        planOf: () => plan,
        placement,
        backend,
        random: seededRandom(seed),
      });
      const { outputs } = await room.run({ x });
      await room.close();
      const comparator = new Comparator();
      comparator.add(expected, outputs);
      const { relativeError, maxAbsError } = comparator.result();
      // Outputs near zero have no relative error worth the name.
      expect(Math.min(relativeError, maxAbsError)).toBeLessThan(1e-4);
    }),
    { numRuns: Number(process.env['STARLING_RUNS'] ?? 60) },
  );
});
