/** What is trained from a plan, which is made for one size, takes every size that the model behind the plan takes. */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { modelOf } from '../compiler/train/runGraph.ts';
import { encodePng } from '../eval/rgbImage.ts';
import type { Graph } from '../graph/graph.ts';
import { loadModel } from '../graph/load.ts';
import { saveModel } from '../graph/save.ts';
import { GraphWriter } from '../tests/support/graphWriter.ts';
import { int, ints } from '../tests/support/operatorCase.ts';
import { runCommandLine } from './runCommandLine.ts';

let root = '';
const path = (name: string): string => join(root, name);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'starling-sizes-'));
});

afterAll(async () => {
  await rm(root, { recursive: true });
});

/** Doubles pictures of any size. */
function upscaler(output: string): Graph {
  const writer = new GraphWriter(5);
  const same = { pads: ints(1, 1, 1, 1), kernel_shape: ints(3, 3) };
  const hidden = writer.node('Conv', ['picture', writer.weight([8, 3, 3, 3], 0.2)], [], same);
  const active = writer.node('Relu', [hidden], []);
  const wide = writer.node('Conv', [active, writer.weight([12, 8, 3, 3], 0.2)], [], same);
  const last = writer.node('DepthToSpace', [wide], [], { blocksize: int(2) });
  const nodes = writer.nodes.map((node) => ({
    ...node,
    outputs: node.outputs.map((name) => (name === last ? output : name)),
  }));
  return {
    name: 'upscaler',
    nodes,
    inputs: [{ name: 'picture', dataType: 'float32', shape: ['N', 3, 'H', 'W'] }],
    outputs: [{ name: output, dataType: 'float32', shape: ['N', 3, 'P', 'Q'] }],
    initializers: writer.initializers,
    values: new Map(),
  };
}

async function write(name: string, graph: Graph): Promise<void> {
  await writeFile(path(name), saveModel(modelOf(graph)).bytes);
}

async function starling(...args: string[]): Promise<void> {
  const lines: string[] = [];
  const terminal = {
    print: (line: string) => void lines.push(line),
    stderr: { isTTY: false, columns: 80, write: (text: string) => lines.push(text) > 0 },
  };
  expect(await runCommandLine(args, terminal), lines.join('\n')).toBe(0);
}

async function trainedShape(teacher: string, out: string, size: string[] = []): Promise<unknown> {
  const data = ['--data', path('pictures'), '--normalise', 'unit', '--task', 'restore', '--batch', '2'];
  await starling(
    ...['train', path('plan'), '--teacher', path(teacher), '--out', path(out), ...data],
    ...['--keep', '0.5', '--levels', '', '--steps', '2', '--backend', 'wasm', ...size],
  );
  const model = await readFile(join(path(out), 'kept-0.5', 'model.onnx'));
  return loadModel(new Uint8Array(model)).graph.inputs[0]?.shape?.slice(1);
}

test('the sizes of the model behind the plan stay open; another teacher has no say in them', async () => {
  await write('model.onnx', upscaler('large'));
  await write('other.onnx', upscaler('enlarged'));
  await mkdir(path('pictures'));
  for (let i = 0; i < 4; i++) {
    const data = Uint8Array.from({ length: 3 * 64 }, (_, at) => (at * (i + 7)) % 256);
    await writeFile(join(path('pictures'), `${i}.png`), encodePng({ width: 8, height: 8, data }));
  }
  const shape = ['--shape', 'picture=1x3x8x8', '--out', path('plan')];
  await starling('compile', path('model.onnx'), '--shards', '2', ...shape);
  expect(await trainedShape('model.onnx', 'own')).toEqual([3, 'H', 'W']);
  expect(await trainedShape('model.onnx', 'smaller', ['--size', '6x4'])).toEqual([3, 'H', 'W']);
  expect(await trainedShape('other.onnx', 'foreign')).toEqual([3, 8, 8]);
}, 120_000);
