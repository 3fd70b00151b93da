/** Of every shared model less than a tenth of the arithmetic is replicated, by channels and by rows, and the report names it. */

import { describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { cheapChannels } from '../../compiler/divide/cheapChannels.ts';
import { divideByRows } from '../../compiler/divide/divideRows.ts';
import { normaliseModel } from '../../compiler/normalise/normaliseModel.ts';
import { describePlan } from '../../compiler/plan/report.ts';
import { loadModel } from '../../graph/load.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import { localLink, referenceDevice } from '../../runtime/predict/costModel.ts';
import { hasShared } from '../support/shared.ts';
import { verifyModels } from '../verify/models.ts';

const cost = { devices: [referenceDevice], link: localLink, host: 0 };
const most = 0.1;
const timeout = 180_000;

describe.skipIf(!hasShared)('what is replicated', () => {
  it.each(verifyModels.map((model) => [model.name, model] as const))('%s', { timeout }, async (_, model) => {
    const bytes = await model.bytes(() => createHeapBackend());
    const backend = await createHeapBackend();
    const { graph, batchOpen } = await normaliseModel(loadModel(bytes), { backend, shapes: model.shapes });
    for (const numShards of model.heavy ? [4] : [2, 4]) {
      const divisions = {
        channels: cheapChannels(graph, numShards, cost, batchOpen),
        rows: divideByRows(graph, numShards, batchOpen),
      };
      for (const [axis, { graph: divided, division, heldWhole = new Set<string>() }] of Object.entries(
        divisions,
      )) {
        const placement = oneShardEach(numShards);
        const room = lower(divided, division, placement);
        const { macs, macsPerShard, replicated } = describePlan(
          { graph: divided, division, heldWhole },
          room,
        );
        const whole = replicated.reduce((sum, node) => sum + node.macs, 0);
        const label = `by ${axis} over ${numShards}`;
        expect(whole / macs, label).toBeLessThan(most);
        // Whatever the report calls it: what all shards do together is hardly more than the model.
        const together = macsPerShard.reduce((sum, own) => sum + own, 0);
        expect(together / macs, label).toBeLessThan(1 + most);
        expect(together / macs, label).toBeGreaterThan(0.999);
        for (const { reason, opType } of replicated) expect(reason, opType).not.toBe('');
      }
    }
  });
});
