/** Whatever is wrong with a plan or a model, a command ends with one clear line and exit code 1. */
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Model } from '../graph/graph.ts';
import { saveModel } from '../graph/save.ts';
import type { ErrorCode } from '../protocol/errors.ts';
import { parsePlan } from '../protocol/plan.ts';
import { starling } from '../tests/support/commandLine.ts';
import { randomModel } from '../tests/support/randomGraph.ts';

let folder = '';
/** A good model and its plan, copied before each is spoilt. */
let model = '';
let plan = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'starling-plans-'));
  model = await write('model.onnx', saveModel(randomModel(32, 14)).bytes);
  plan = join(folder, 'plan');
  const { code, err } = await starling('compile', model, '--shards', '3', '--out', plan);
  expect([code, err]).toEqual([0, '']);
}, 60_000);
afterAll(() => rm(folder, { recursive: true }));

async function write(name: string, content: Uint8Array | string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function refuses(code: ErrorCode, says: RegExp, ...args: string[]): Promise<void> {
  const result = await starling(...args);
  expect([result.code, result.out], result.err).toEqual([1, '']);
  expect(result.err).toMatch(new RegExp(`^${code}: [^\\n]+\\.\\n$`));
  expect(result.err).toMatch(says);
  expect(result.err).not.toMatch(/\bat .*:\d+:\d+/);
}

let copies = 0;
async function spoiltPlan(spoil: (copy: string) => Promise<void>): Promise<string> {
  const copy = join(folder, `copy${copies++}`);
  await cp(plan, copy, { recursive: true });
  await spoil(copy);
  return copy;
}

/** Every command that reads a plan. */
const readers = (dir: string): readonly string[][] => [
  ['inspect', dir],
  ['lower', dir, '--placement', '0,1/2', '--device', '0', '--out', join(folder, 'lowered.onnx')],
  ['verify', dir, '--model', model, '--samples', '1'],
  ['eval', dir, '--task', 'classification'],
];

async function largestWeights(dir: string): Promise<string> {
  const { weights } = parsePlan(await readFile(join(dir, 'plan.json'), 'utf8'));
  return join(dir, weights.toSorted((a, b) => b.bytes - a.bytes)[0]?.path ?? '');
}

describe('a plan that', () => {
  it('is compared with no samples, or with as many as a word, is not called right', async () => {
    for (const samples of ['0', 'many', '']) {
      const { code, out, err } = await starling('verify', plan, '--model', model, `--samples=${samples}`);
      expect([code, out], err).toEqual([2, '']);
      expect(err).toMatch(/^USAGE: Expected --samples to be a whole number from 1/);
    }
  });

  it('is what compile wrote passes', { timeout: 60_000 }, async () => {
    const { code, out } = await starling(
      'verify',
      plan,
      '--model',
      model,
      '--placement',
      '0/2,1',
      '--samples',
      '2',
    );
    expect(code, out).toBe(0);
  });

  it('is not there', async () => {
    for (const args of readers(join(folder, 'nowhere'))) {
      await refuses('PLAN_NOT_FOUND', /nowhere.*does not exist/, ...args);
    }
  });

  it('is of another version', async () => {
    const dir = await spoiltPlan(async (copy) => {
      const path = join(copy, 'plan.json');
      const file = JSON.parse(await readFile(path, 'utf8'));
      await writeFile(path, JSON.stringify({ ...file, version: 99 }));
    });
    for (const args of readers(dir)) await refuses('PLAN_VERSION', /got version 99/, ...args);
  });

  it('is no plan at all', async () => {
    for (const content of ['no JSON', '{"format": "other"}', '[]', '']) {
      const dir = await spoiltPlan((copy) => writeFile(join(copy, 'plan.json'), content));
      for (const args of readers(dir))
        await refuses('PLAN_UNREADABLE', /compile the model again|starling compile/, ...args);
    }
  });

  it('holds a graph file or a weight file that was changed', { timeout: 60_000 }, async () => {
    const flip = async (path: string) => {
      const bytes = await readFile(path);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
      await writeFile(path, bytes);
    };
    const graph = await spoiltPlan((copy) => flip(join(copy, 'graph.onnx')));
    const weights = await spoiltPlan(async (copy) => flip(await largestWeights(copy)));
    // `inspect` prints plan.json and opens nothing else.
    for (const args of readers(graph).slice(1)) await refuses('HASH_MISMATCH', /"graph\.onnx"/, ...args);
    for (const args of readers(weights).slice(1))
      await refuses('HASH_MISMATCH', /"weights-.*\.bin"/, ...args);
  });

  it('lacks a weight file', async () => {
    const dir = await spoiltPlan(async (copy) => rm(await largestWeights(copy)));
    await refuses('PLAN_NOT_FOUND', /weights-/, 'verify', dir, '--model', model);
    expect((await readdir(plan)).length).toBe((await readdir(dir)).length + 1);
  });

  it('is asked to run on a placement of other shards', async () => {
    for (const placement of ['0/1', '0,1/1,2', '0/1/2/3']) {
      await refuses(
        'PLACEMENT_INVALID',
        /Expected each of the shards/,
        'verify',
        plan,
        '--model',
        model,
        '--placement',
        placement,
      );
    }
  });

  it('was made from another model', async () => {
    const other = randomModel(32, 14);
    const [output] = other.graph.outputs;
    const renamed: Model = {
      ...other,
      graph: {
        ...other.graph,
        outputs: other.graph.outputs.map((value) => ({ ...value, name: 'other' })),
        nodes: other.graph.nodes.map((node) => ({
          ...node,
          inputs: node.inputs.map((name) => (name === output?.name ? 'other' : name)),
          outputs: node.outputs.map((name) => (name === output?.name ? 'other' : name)),
        })),
      },
    };
    const path = await write('other.onnx', saveModel(renamed).bytes);
    await refuses('INPUT_INVALID', /output "other" is not in the plan/, 'verify', plan, '--model', path);
  });
});

describe('a model that', () => {
  const compiled = (path: string) => ['compile', path, '--shards', '2', '--out', join(folder, 'out')];

  it('is not there', async () => {
    const path = join(folder, 'none.onnx');
    await refuses('MODEL_NOT_FOUND', /none\.onnx does not exist/, ...compiled(path));
    await refuses('MODEL_NOT_FOUND', /none\.onnx does not exist/, 'verify', plan, '--model', path);
  });

  it('is broken', async () => {
    const good = await readFile(model);
    const broken = [
      await write('text.onnx', 'This is no model.'),
      await write('empty.onnx', ''),
      await write('half.onnx', good.subarray(0, good.length >> 1)),
    ];
    for (const path of broken) {
      const { code, out, err } = await starling(...compiled(path));
      expect([code, out], path).toEqual([1, '']);
      expect(err, path).toMatch(/^(MODEL_UNREADABLE|GRAPH_INVALID): [^\n]+\.\n$/);
    }
  });

  it('leaves its shape open', async () => {
    const closed = randomModel(32, 14);
    const open: Model = {
      ...closed,
      graph: {
        ...closed.graph,
        inputs: closed.graph.inputs.map((input) => ({
          ...input,
          shape: (input.shape ?? []).map((dim, axis) => (axis >= 2 ? `side${axis}` : dim)),
        })),
        outputs: closed.graph.outputs.map(({ name, dataType }) => ({ name, dataType })),
        values: new Map(),
      },
    };
    const path = await write('open.onnx', saveModel(open).bytes);
    await refuses('SHAPE_OPEN', /--shape/, ...compiled(path));
  });
});
