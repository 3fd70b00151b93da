/** A large output leaves its devices in halves, the first while the second is made, and is what it was in one piece. */
import { expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { divideByRows } from '../../compiler/divide/divideRows.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import type { Model, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { size } from '../../graph/ranges.ts';
import { saveModel } from '../../graph/save.ts';
import { float32View } from '../../graph/tensor.ts';
import { wholeWeights } from '../weights/blob.ts';
import { lower } from './lower.ts';

const placement = [[0], [1]];

/** Two 3 x 3 convolutions of a picture `height` x 96; the output has 4 channels. */
function twoConvolutions(height: number): Model {
  const random = seededRandom(5);
  const info = (name: string, channels: number) => ({
    name,
    dataType: 'float32' as const,
    shape: [1, channels, height, 96],
  });
  const conv = (input: string, weight: string, output: string): Node => ({
    name: `conv ${output}`,
    opType: 'Conv',
    domain: '',
    inputs: [input, weight],
    outputs: [output],
    attributes: new Map([['pads', { type: 'ints', value: [1, 1, 1, 1] }]]),
  });
  return {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: 'test',
    metadata: new Map(),
    graph: {
      name: 'twoConvolutions',
      inputs: [info('x', 1)],
      outputs: [info('y', 4)],
      nodes: [conv('x', 'w1', 'h'), conv('h', 'w2', 'y')],
      initializers: new Map([
        ['w1', randomTensor('float32', [4, 1, 3, 3], random)],
        ['w2', randomTensor('float32', [4, 4, 3, 3], random)],
      ]),
      values: new Map([['h', info('h', 4)]]),
    },
  };
}

function divided(height: number) {
  const model = twoConvolutions(height);
  const { graph, division } = divideByRows(model.graph, 2);
  return { model, graph, division: { ...division, sendFirst: true } };
}

test('every device gives a large output in two results, the first from a stage before that of the second', () => {
  const { graph, division } = divided(128);
  for (const { results, stages } of lower(graph, division, placement).programs) {
    expect(results.map(({ slab }) => size(slab?.ranges ?? []))).toEqual([32, 32]);
    const madeBy = results.map(({ name }) => stages.findIndex(({ outputs }) => outputs.includes(name)));
    expect(madeBy[0]).toBeLessThan(madeBy[1] ?? 0);
  }
});

test('a small output stays in one piece', () => {
  const { graph, division } = divided(32);
  const { programs } = lower(graph, division, placement);
  expect(programs.map(({ results }) => results.length)).toEqual([1, 1]);
});

test('the halves together are the output', async () => {
  const { model, graph, division } = divided(128);
  const backend = await createHeapBackend();
  const x = randomTensor('float32', [1, 1, 128, 96], seededRandom(6));
  const session = await backend.createSession(saveModel(model).bytes);
  const expected = await runWhole(session, backend, { x });
  await session.release();
  const dense = { ...model, graph };
  const plan = { model: dense, division, openBatch: false, weights: wholeWeights(dense) };
  const room = await openLocalRoom({ planOf: () => plan, placement, backend });
  const { outputs } = await room.run({ x });
  await room.close();
  const [wanted, got] = [expected['y'], outputs['y']].map((y) => (y === undefined ? [] : float32View(y)));
  expect(got).toHaveLength(wanted?.length ?? 0);
  for (const [i, value] of wanted?.entries() ?? []) expect(got?.[i]).toBeCloseTo(value, 4);
});
