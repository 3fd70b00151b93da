/** Plans within a limit of memory: rows keep every weight on every device, channels do not. */
import { describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel } from '../../compiler/compile.ts';
import { chooseDivision } from '../../compiler/divide/chooseDivision.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { type LinkCost, localLink, referenceDevice } from '../../runtime/predict/costModel.ts';
import { predictPeak } from '../../runtime/predict/memory.ts';
import { tinyUpscaler } from '../e2e/support/tinyUpscaler.ts';

const [features, side, layers] = [768, 12, 12];

/** Many weights and small maps: 28 MB of the one, 0.4 of the other. Nothing reads the numbers. */
function heavyGraph(): Graph {
  const attributes = new Map<string, Attribute>();
  const shape = [1, features, side, side];
  const nodes = Array.from({ length: layers }, (_, i): Node => {
    const inputs = [i === 0 ? 'y-1' : `y${i - 1}`, `w${i}`];
    return { name: `conv${i}`, opType: 'Conv', domain: '', inputs, outputs: [`y${i}`], attributes };
  });
  const weight = { dataType: 'float32' as const, dims: [features, features, 1, 1], data: new Uint8Array(0) };
  const value = (name: string) => ({ name, dataType: 'float32' as const, shape });
  return {
    name: 'heavy',
    inputs: [value('y-1')],
    outputs: [value(`y${layers - 1}`)],
    nodes,
    initializers: new Map(nodes.map((_, i) => [`w${i}`, weight])),
    values: new Map(nodes.map((_, i) => [`y${i}`, value(`y${i}`)])),
  };
}

/** A round costs much: channels, which exchange at every layer, are no division for it. */
const link: LinkCost = { ...localLink, roundTripMs: 20 };
const devices = [referenceDevice];

function choose(memoryBytes?: readonly number[]) {
  const cost = { devices, link, host: 0, ...(memoryBytes === undefined ? {} : { memoryBytes }) };
  const chosen = chooseDivision(heavyGraph(), 2, cost, false);
  const { programs } = lower(chosen.graph, chosen.division, [[0], [1]]);
  return { ...chosen, heap: Math.max(...programs.map((program) => predictPeak(program).heapBytes)) };
}

describe('a limit of memory', () => {
  test('makes the planner take what fits where something else is faster', () => {
    const free = choose();
    expect(free.heap).toBeGreaterThan(40e6);
    const limited = choose([36e6]);
    expect(limited.heap).toBeLessThanOrEqual(36e6);
    expect(limited.predictedMs.auto).toBeGreaterThan(free.predictedMs.auto);
    expect(limited.reason).toContain('by channels');
  });

  test('that is wide changes nothing', () => {
    expect(choose([4e9]).division.shardings).toEqual(choose().division.shardings);
  });

  test('that nothing keeps is refused, with the device and what it needs', async () => {
    expect(() => choose([20e6])).toThrow(/needs about \d+\.\d MB and may have 20\.0 MB/);
    const backend = await createHeapBackend();
    const cost = { devices, link, memoryBytes: [500e6, 1e6] };
    const compiling = compileModel(tinyUpscaler(8), {
      name: 'tiny',
      numShards: 2,
      axis: 'rows',
      cost,
      backend,
    });
    await expect(compiling).rejects.toThrow(/device 1 needs about .* and may have 1\.0 MB/);
  });
});
