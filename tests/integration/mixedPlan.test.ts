/** A mix of both axes, rows early and thinned channels late: what devices really send is what the plan says, and they answer as one device does. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { type LatencyOption, thinnedOptions } from '../../compiler/latencyOptions.ts';
import type { DividedModel } from '../../compiler/measure/answers.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { exchangeCost, lowerEach } from '../../compiler/wire/exchangeCost.ts';
import { narrowWires } from '../../compiler/wire/narrowWires.ts';
import { float32View } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { allOnOne, oneShardEach } from '../../runtime/lower/placements.ts';
import type { Placement } from '../../runtime/lower/program.ts';
import { referenceDevice } from '../../runtime/predict/costModel.ts';
import { simulate } from '../../runtime/predict/simulate.ts';
import { wholeWeights } from '../../runtime/weights/blob.ts';
import { blockNetwork, blockPictures } from '../support/blockNetwork.ts';

const numShards = 2;
const pictures = blockPictures(96, 16);
const link = { roundTripMs: 1, bytesPerMs: 50, messageMs: 0.1 };
const cost = { devices: [referenceDevice, referenceDevice], link, host: 0 };

describe('rows early, thinned channels late', () => {
  let backend: Backend;
  let divided: DividedModel;

  beforeAll(async () => {
    backend = await createHeapBackend();
    const model = await blockNetwork(backend, 16, 2);
    const options = {
      numShards,
      cost,
      calibration: pictures,
      backend,
      openBatch: true,
      allowedLoss: 1,
      rows: 500,
    };
    const msOf = (made: DividedModel) =>
      simulate(lowerEach(made.model.graph, made.division, 'uint8'), cost).totalMs;
    const found = await thinnedOptions(model, pictures, options, msOf);
    // Of the mixes, the one that has most to leave out and does.
    const mixes = found
      .filter(({ reason }) => reason.startsWith('The first'))
      .map((mix) => ({ mix, sent: numbersOf(mix) }))
      .filter(({ sent: [chosen, all] }) => chosen > 0 && chosen < 0.6 * all)
      .toSorted((a, b) => b.sent[1] - a.sent[1]);
    const [first] = mixes;
    if (first === undefined) throw new Error(found.map(({ reason }) => reason).join('; '));
    const made = await first.mix.make();
    divided = await narrowWires(made.model, made.division, {
      wire: 'uint8',
      calibration: pictures,
      backend,
      openBatch: true,
    });
  }, 300_000);

  async function answers(placement: Placement) {
    const plan = { ...divided, openBatch: true, weights: wholeWeights(divided.model) };
    const room = await openLocalRoom({ planOf: () => plan, placement, backend });
    const [batch = {}] = [...(pictures.batches() as Iterable<Record<string, never>>)];
    try {
      const { outputs, timeline } = await room.run(batch, { timeline: true });
      const sent = timeline?.transfers.filter(({ kind }) => kind === 'tensor') ?? [];
      const bytes = sent.reduce((sum, transfer) => sum + transfer.bytes, 0);
      return {
        bytes,
        lowered: room.room,
        logits: Object.values(outputs).map(float32View)[0] ?? new Float32Array(0),
      };
    } finally {
      await room.close();
    }
  }

  test('both axes are exchanged, and some channels are not sent', () => {
    const { shardings, supports } = divided.division;
    const axes = new Set([...shardings.values()].map(({ axis }) => axis));
    expect(axes).toEqual(new Set([1, 2]));
    expect(supports?.size).toBeGreaterThan(0);
  });

  test('two devices send the bytes of the plan, and answer as one', async () => {
    const two = await answers(oneShardEach(numShards));
    const one = await answers(allOnOne(numShards));
    const samples = 16;
    expect(two.bytes).toBeGreaterThan(0);
    expect(two.bytes).toBe(samples * exchangeCost(two.lowered).bytes);
    expect(two.lowered.rounds).toBeGreaterThan(0);
    expect(one.bytes).toBe(0);
    let [missed, squares] = [0, 0];
    two.logits.forEach((value, i) => {
      missed += (value - (one.logits[i] ?? 0)) ** 2;
      squares += (one.logits[i] ?? 0) ** 2;
    });
    expect(Math.sqrt(missed / squares)).toBeLessThan(5e-3);
  });
});

/** Features that are sent, of those that could be. */
function numbersOf({ reason }: LatencyOption): readonly [number, number] {
  const [, chosen = '', all = ''] = /, (\d+) of (\d+) features sent/.exec(reason) ?? [];
  return [Number(chosen), Number(all)];
}
