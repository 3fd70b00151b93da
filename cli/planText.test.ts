/** What `compile` prints of a plan is what lowering does, and `inspect` prints it again from the files alone. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Graph, Node } from '../graph/graph.ts';
import { saveModel } from '../graph/save.ts';
import { int64Tensor, tensorBytes } from '../graph/tensor.ts';
import { type PlanFile, parsePlan } from '../protocol/plan.ts';
import { lower } from '../runtime/lower/lower.ts';
import type { Feed } from '../runtime/lower/program.ts';
import { openPlan } from '../runtime/plan.ts';
import { starling } from '../tests/support/commandLine.ts';
import { int, ints, random } from '../tests/support/operatorCase.ts';
import { readBytes } from './files.ts';
import { formatCount } from './table.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'starling-plan-'));
  await writeFile(join(folder, 'model.onnx'), model());
});
afterAll(() => rm(folder, { recursive: true }));

/** What a command that ends well prints. */
async function printed(...args: string[]): Promise<string> {
  const { code, out, err } = await starling(...args);
  expect({ code, err: err.match(/error:.*/) }).toEqual({ code: 0, err: null });
  return out;
}

/** Two 3 x 3 convolutions, a head that is smaller than what it reads, and an operator that nobody divides. */
function model(): Uint8Array {
  const pads = { pads: ints(1, 1, 1, 1) };
  const node = (opType: string, inputs: string[], outputs: string[], attributes = {}): Node => {
    const name = outputs[0] ?? '';
    return { name, opType, domain: '', inputs, outputs, attributes: new Map(Object.entries(attributes)) };
  };
  const graph: Graph = {
    name: 'model',
    inputs: [{ name: 'x', dataType: 'float32', shape: ['N', 3, 12, 12] }],
    outputs: [{ name: 'best', dataType: 'float32', untyped: true }],
    nodes: [
      node('Conv', ['x', 'w0'], ['a'], pads),
      node('Conv', ['a', 'w1'], ['b'], pads),
      node('Conv', ['b', 'w2'], ['head']),
      node('TopK', ['head', 'k'], ['best', 'at'], { axis: int(1) }),
    ],
    initializers: new Map([
      ['w0', random([32, 3, 3, 3])],
      ['w1', random([16, 32, 3, 3])],
      ['w2', random([4, 16, 1, 1])],
      ['k', int64Tensor([2])],
    ]),
    values: new Map(),
  };
  const fields = { irVersion: 8, producer: '', metadata: new Map<string, string>() };
  return saveModel({ ...fields, opsets: new Map([['', 17]]), graph }).bytes;
}

async function compiled(axis: string): Promise<{ text: string; again: string; file: PlanFile; out: string }> {
  const out = join(folder, axis);
  const text = await printed(
    ...['compile', join(folder, 'model.onnx'), '--shards', '2', '--axis', axis, '--out', out],
  );
  const file = parsePlan(new TextDecoder().decode(await readBytes(join(out, 'plan.json'), 'PLAN_NOT_FOUND')));
  return { text, again: await printed('inspect', out), file, out };
}

const line = (text: string, start: string) =>
  text
    .split('\n')
    .find((one) => one.startsWith(start))
    ?.replace(/ +/g, ' ');

describe.each(['channels', 'rows'])('a plan by %s', (axis) => {
  it('lists what lowering exchanges, and inspect prints it again', async () => {
    const { text, again, file, out } = await compiled(axis);
    expect(again).toBe(text);
    const plan = await openPlan((path) => readBytes(join(out, path), 'PLAN_NOT_FOUND'));
    const room = lower(plan.model.graph, plan.division, [[0], [1]]);
    const { exchanges, rounds, exchangedBytes, inputBytes, outputBytes, macsPerShard } = file.report;
    expect(exchanges.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(room.exchangedBytes);
    expect(exchangedBytes).toBe(room.exchangedBytes);
    const [, other] = room.programs;
    const bytesOf = (ends: readonly Pick<Feed, 'dataType' | 'dims'>[]) =>
      ends.reduce((sum, end) => sum + tensorBytes(end), 0);
    expect(inputBytes).toBe(bytesOf(other?.feeds ?? []));
    expect(outputBytes).toBe(bytesOf(other?.results ?? []));
    expect(inputBytes + outputBytes).toBeGreaterThan(0);
    expect(text).toContain(
      `${formatCount(inputBytes)}B of inputs go to the others, ${formatCount(outputBytes)}B of outputs`,
    );
    expect(rounds).toBe(room.rounds);
    expect(Math.max(...exchanges.map(({ round }) => round))).toBe(rounds);
    expect(macsPerShard).toEqual(room.programs.map(({ macs }) => macs));
    for (const { value, features } of exchanges) {
      expect(line(text, `${value} `)).toContain(` ${features} `);
    }
  });

  it('says what one device, either axis and the best of them would take, and which it is', async () => {
    const { text } = await compiled(axis);
    for (const name of ['one device', 'channels', 'rows', 'auto']) {
      const taken = name === axis ? ' taken' : '';
      expect(line(text.slice(text.indexOf('Predicted time')), `${name} `)).toMatch(
        new RegExp(`^${name} \\d+\\.\\d ms${taken}$`),
      );
    }
  });

  it('says what is not divided, what it costs and why', async () => {
    const { text, file } = await compiled(axis);
    expect(text).toMatch(
      axis === 'rows' ? /Not divided: 0\.0 % of the MACs/ : /Not divided: 1\.2 % of the MACs/,
    );
    if (axis === 'channels') expect(text).toMatch(/\nhead +Conv +9\.22 k +1\.2 % +to compute it everywhere/);
    expect(text).toContain('it has several outputs, and a rule makes parts of one (TopK)');
    expect(file.report.replicated.map(({ opType }) => opType)).toContain('TopK');
    expect(line(text, 'whole model')).toMatch(/^whole model 797 k/);
  });
});

it('names features, partial sums and rows', async () => {
  const channels = (await compiled('channels')).text;
  // The second convolution is divided along its inputs: one device's summands of 16 x 12 x 12 are all that crosses.
  expect(line(channels, 'b ')).toBe('b partial sums 16 9.22 k 1');
  expect(line((await compiled('rows')).text, 'a ')).toBe('a rows 2 3.07 k 1');
});

it('reads plans of before there was a list of exchanges', async () => {
  const { file } = await compiled('rows');
  const { exchanges: _, ...report } = file.report;
  const { partials: __, ...rest } = file;
  const old = parsePlan(JSON.stringify({ ...rest, report }));
  expect(old.report.exchanges).toEqual([]);
  expect(old.partials).toEqual({});
});
