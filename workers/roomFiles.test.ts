import { beforeAll, describe, expect, it } from 'vitest';
import { createHeapBackend } from '../backends/ortHeap.ts';
import { compileModel } from '../compiler/compile.ts';
import { StarlingError } from '../protocol/errors.ts';
import { heldPlanAddress } from '../protocol/heldPlan.ts';
import { parsePlan } from '../protocol/plan.ts';
import { sha256Hex } from '../protocol/sha256.ts';
import { checkHash, openPlan } from '../runtime/plan.ts';
import { tinyUpscaler } from '../tests/e2e/support/tinyUpscaler.ts';
import { RoomFiles } from './roomFiles.ts';

let files: ReadonlyMap<string, Uint8Array>;
let hash: string;
let weights: ReturnType<typeof parsePlan>['weights'];
beforeAll(async () => {
  const backend = await createHeapBackend();
  ({ files } = await compileModel(tinyUpscaler(8), {
    name: 'tiny',
    numShards: 2,
    axis: 'channels',
    backend,
  }));
  const plan = files.get('plan.json') ?? new Uint8Array(0);
  hash = sha256Hex(plan);
  ({ weights } = parsePlan(new TextDecoder().decode(plan)));
});

/** Devices that ask each other as long as they are in the room; Node has no cache of a browser. */
function room(...names: readonly string[]) {
  const devices = new Map<string, RoomFiles>();
  const asked: string[] = [];
  for (const name of names) {
    const device = new RoomFiles({
      peers: () => [...devices.keys()].filter((other) => other !== name),
      fetch: async (peer, sha256, { path, maxBytes }) => {
        asked.push(`${name} asks ${peer} for ${path}`);
        const other = devices.get(peer);
        if (other === undefined) throw new StarlingError('PEER_LOST', 'It is gone.');
        const bytes = await other.give(sha256);
        if (bytes === undefined) return null;
        expect(bytes.byteLength).toBeLessThanOrEqual(maxBytes);
        checkHash(path, bytes, sha256);
        return bytes;
      },
    });
    devices.set(name, device);
  }
  const of = (name: string) =>
    devices.get(name) ?? new RoomFiles({ peers: () => [], fetch: async () => null });
  return { devices, asked, of };
}

const own = (shard: number) => weights.filter((file) => file.shard === null || file.shard === shard);

describe('files of a plan that a device holds', () => {
  it('come from that device, once, and are then given on', async () => {
    const { of, asked, devices } = room('c', 'a', 'b');
    expect(of('a').hold([files])).toEqual([heldPlanAddress(hash)]);
    const source = of('b').of(hash, 'a');
    const plan = await openPlan((path) => source.read(path), hash);
    expect(plan.file.name).toBe('tiny');
    for (const file of own(0)) {
      expect(await source.weights(file, () => undefined)).toEqual(files.get(file.path));
      await source.weights(file, () => undefined);
    }
    const names = [
      'plan.json',
      'graph.onnx',
      ...own(0)
        .filter(({ bytes }) => bytes > 0)
        .map(({ path }) => path),
    ];
    expect(asked).toEqual(names.map((path) => `b asks a for ${path}`));

    devices.delete('a');
    const third = of('c').of(hash);
    expect(sha256Hex(await third.read('plan.json'))).toBe(hash);
    // Another shard's weights went with the device that had them.
    const [other] = weights.filter(({ shard }) => shard === 1);
    if (other === undefined) throw new Error('The plan has no second shard.');
    await expect(third.weights(other, () => undefined)).rejects.toMatchObject({
      code: 'PLAN_NOT_FOUND',
      message: expect.stringContaining(other.path),
    });
  });

  it('are all there after gathering, so that their device may leave', async () => {
    const { of, devices } = room('a', 'b', 'c');
    of('a').hold([files]);
    const source = of('b').of(hash);
    await source.read('plan.json');
    await of('b').gather(weights);
    devices.delete('a');
    for (const file of weights) {
      const received = await of('c')
        .of(hash, 'b')
        .weights(file, () => undefined);
      expect(sha256Hex(received)).toBe(file.sha256);
    }
  });

  it('are taken from another device where the first one gives something else', async () => {
    const { of, devices, asked } = room('a', 'b', 'liar');
    of('a').hold([files]);
    const [common] = weights.filter(({ bytes }) => bytes > 0);
    if (common === undefined) throw new Error('The plan has no weights.');
    const liar = of('liar');
    liar.give = async () => new Uint8Array(8);
    const source = of('b').of(hash, 'liar');
    expect(sha256Hex(await source.weights(common, () => undefined))).toBe(common.sha256);
    expect(asked).toEqual([`b asks liar for ${common.path}`, `b asks a for ${common.path}`]);
    devices.delete('a');
    const [, next] = weights.filter(({ bytes }) => bytes > 0);
    if (next === undefined) throw new Error('The plan has one file of weights only.');
    await expect(source.weights(next, () => undefined)).rejects.toMatchObject({ code: 'HASH_MISMATCH' });
  });

  it('are refused when one is missing or changed, and given to nobody after that', async () => {
    const { of } = room('a');
    const [[, graph] = ['', new Uint8Array(0)]] = [...files].filter(([name]) => name === 'graph.onnx');
    const lacking = new Map([...files].filter(([name]) => name !== 'graph.onnx'));
    expect(() => of('a').hold([lacking])).toThrow(/graph\.onnx/);
    const changed = graph.slice();
    changed[changed.length - 1] = 1 ^ (changed.at(-1) ?? 0);
    expect(() => of('a').hold([new Map([...files, ['graph.onnx', changed]])])).toThrow(/SHA-256/);
    expect(await of('a').give(hash)).toBeUndefined();
    of('a').hold([files]);
    expect(await of('a').give(hash)).toEqual(files.get('plan.json'));
    of('a').hold([]);
    expect(await of('a').give(hash)).toBeUndefined();
  });
});
