/**
 * Random networks in forms that opset 17 does not have, with functions of their own and sparse weights: compiled, for any
 * placement, they give the answer of onnxruntime, which runs the file as it is.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { Comparator } from '../../compiler/measure/compare.ts';
import { loadModel } from '../../graph/load.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { compiledPlan, roomAnswer, wholeAnswer } from '../support/dividedAnswer.ts';
import { oddSteps } from '../support/oddSteps.ts';
import { outlined } from '../support/outline.ts';
import { placements } from '../support/randomDivision.ts';
import { randomModel, randomModelOf } from '../support/randomGraph.ts';
import { steps } from '../support/randomSteps.ts';

const among = [...steps, ...oddSteps, ...oddSteps];

const cases = fc
  .record({
    seed: fc.nat(),
    length: fc.integer({ min: 1, max: 10 }),
    numShards: fc.integer({ min: 2, max: 4 }),
    axis: fc.constantFrom('channels' as const, 'rows' as const),
    opset: fc.constantFrom(17, 19, 21, 22),
  })
  .chain((record) => placements(record.numShards).map((placement) => ({ ...record, placement })));

test('random networks of odd forms equal the whole', async () => {
  const backend = await createHeapBackend();
  let functions = 0;
  await fc.assert(
    fc.asyncProperty(cases, async ({ seed, length, numShards, axis, opset, placement }) => {
      const model =
        opset === 17 ? randomModel(seed, length, true) : randomModelOf(among, seed, length, opset);
      const bytes = outlined(saveModel(model).bytes, seededRandom(seed + 2));
      functions +=
        bytes.length > 0 && loadModel(bytes).graph.nodes.some(({ name }) => name.includes('/')) ? 1 : 0;
      const [input] = model.graph.inputs;
      const x = randomTensor('float32', (input?.shape ?? []).map(Number), seededRandom(seed + 1));
      const expected = await wholeAnswer(backend, bytes, { x });
      const compiled = await compiledPlan(backend, bytes, { numShards, axis });
      const outputs = await roomAnswer(backend, compiled, { x }, placement);
      const comparator = new Comparator();
      comparator.add(expected, outputs);
      const { relativeError, maxAbsError } = comparator.result();
      expect(Math.min(relativeError, maxAbsError)).toBeLessThan(1e-4);
    }),
    { numRuns: Number(process.env['STARLING_RUNS'] ?? 40) },
  );
  expect(functions).toBeGreaterThan(0);
}, 180_000);
