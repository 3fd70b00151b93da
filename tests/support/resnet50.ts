/**
 * 'resnet50' of tests and benchmarks: the real graph with seeded random weights (He), and batch normalisation
 * whose statistics are those of random images, so that signals keep their size through all layers. Its output
 * is logits. It recognises nothing; it is for exactness and speed.
 */

import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Graph, Model, Node } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { elementCount, float32Tensor, float32View, readIntegers, type Tensor } from '../../graph/tensor.ts';
import type { Backend, TensorHandle } from '../../runtime/backend.ts';
import { randomNormals } from './random.ts';
import { readSharedModel } from './shared.ts';

const sourceName = 'resnet50-constant-weights.onnx';
/** Rises whenever the recipe below changes. */
const recipe = 1;
const cacheFolder = fileURLToPath(new URL('../../.cache/', import.meta.url));

/** Needs the shared models (see hasShared). Made once (some seconds), then read from an ignored folder. */
export async function resnet50Model(createBackend: () => Promise<Backend>): Promise<Model> {
  const path = `${cacheFolder}resnet50-${recipe}.onnx`;
  if (existsSync(path)) return loadModel(new Uint8Array(readFileSync(path)));
  const model = await buildResnet50(await createBackend());
  mkdirSync(cacheFolder, { recursive: true });
  // Under a name of its own first: another test file may be doing the same.
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, saveModel(model).bytes);
  renameSync(temporary, path);
  return model;
}

/** The same model every time, without the cache. */
export async function buildResnet50(backend: Backend): Promise<Model> {
  const source = loadModel(readSharedModel(sourceName));
  const filled = withRandomWeights(source.graph);
  const initializers = await withMeasuredStatistics(source, filled, backend);
  return { ...source, producer: 'starling tests', graph: withLogits({ ...filled, initializers }) };
}

/** Every weight comes from a ConstantOfShape node; what it is drawn from depends on who reads it. */
function withRandomWeights(graph: Graph): Graph {
  const random = seededRandom(50);
  const initializers = new Map(graph.initializers);
  const nodes: Node[] = [];
  for (const node of graph.nodes) {
    if (node.opType !== 'ConstantOfShape') {
      nodes.push(node);
      continue;
    }
    const [shapeName = ''] = node.inputs;
    const [output = ''] = node.outputs;
    const shape = initializers.get(shapeName);
    if (shape === undefined) throw new Error(`${sourceName} is not the file this recipe was written for.`);
    const reader = graph.nodes.find((other) => other.inputs.includes(output));
    initializers.delete(shapeName);
    const place = reader?.inputs.indexOf(output) ?? -1;
    initializers.set(output, drawn(random, reader?.opType ?? '', place, readIntegers(shape)));
  }
  const used = new Set(nodes.flatMap((node) => node.inputs));
  return { ...graph, nodes, initializers: new Map([...initializers].filter(([name]) => used.has(name))) };
}

function drawn(random: () => number, opType: string, place: number, dims: readonly number[]): Tensor {
  const fanIn = elementCount(dims.slice(1));
  if (opType === 'Conv') return randomNormals(random, dims, Math.sqrt(2 / fanIn));
  if (opType === 'Gemm') return randomNormals(random, dims, place === 1 ? Math.sqrt(1 / fanIn) : 0.1);
  const values = randomNormals(random, dims, 0.1);
  // Scales of batch normalisation lie around 1; mean and variance are measured later.
  return place === 1
    ? float32Tensor(
        dims,
        float32View(values).map((value) => 1 + value),
      )
    : values;
}

/** Noise of two scales, as pictures have: flat areas of 28 x 28 pixels and fine grain. */
function randomImages(count: number): Tensor {
  const random = seededRandom(51);
  const [side, patch] = [224, 28];
  const patches = side / patch;
  const coarse = float32View(randomNormals(random, [count, 3, patches, patches]));
  const fine = float32View(randomNormals(random, [count, 3, side, side], 0.5));
  const values = fine.map((value, i) => {
    const [plane, y, x] = [Math.floor(i / side ** 2), Math.floor(i / side) % side, i % side];
    return (
      value + (coarse[plane * patches ** 2 + Math.floor(y / patch) * patches + Math.floor(x / patch)] ?? 0)
    );
  });
  return float32Tensor([count, 3, side, side], values);
}

/** Runs node by node and sets each batch normalisation's statistics from what arrives there. */
async function withMeasuredStatistics(
  model: Model,
  graph: Graph,
  backend: Backend,
): Promise<ReadonlyMap<string, Tensor>> {
  const initializers = new Map(graph.initializers);
  const last = graph.nodes.findLastIndex((node) => node.opType === 'BatchNormalization');
  const nodes = graph.nodes.slice(0, last + 1);
  const live = new Map<string, TensorHandle>();
  for (const input of graph.inputs) live.set(input.name, backend.upload(randomImages(4)));
  for (const [i, node] of nodes.entries()) {
    if (node.opType === 'BatchNormalization') {
      const [input = '', , , mean = '', variance = ''] = node.inputs;
      const handle = live.get(input);
      if (handle === undefined) throw new Error(`${node.name} has no input.`);
      const statistics = channelStatistics(await handle.read());
      initializers.set(mean, statistics.mean);
      initializers.set(variance, statistics.variance);
    }
    for (const [name, handle] of await runNode(model, node, initializers, live, backend))
      live.set(name, handle);
    for (const [name, handle] of live) {
      if (nodes.slice(i + 1).some((later) => later.inputs.includes(name))) continue;
      handle.release();
      live.delete(name);
    }
  }
  return initializers;
}

async function runNode(
  model: Model,
  node: Node,
  initializers: ReadonlyMap<string, Tensor>,
  live: ReadonlyMap<string, TensorHandle>,
  backend: Backend,
): Promise<ReadonlyMap<string, TensorHandle>> {
  const inputs = new Map([...live].filter(([name]) => node.inputs.includes(name)));
  const graph: Graph = {
    name: node.name,
    inputs: [...inputs].map(([name, handle]) => ({ name, dataType: handle.dataType, shape: handle.dims })),
    outputs: node.outputs.map((name) => ({ name, dataType: 'float32', untyped: true })),
    nodes: [node],
    initializers: new Map([...initializers].filter(([name]) => node.inputs.includes(name))),
    values: new Map(),
  };
  const session = await backend.createSession(saveModel({ ...model, graph }).bytes);
  try {
    return await session.run(inputs);
  } finally {
    await session.release();
  }
}

/** Mean and variance of each channel over images and positions, to four digits, so that last bits do not matter. */
function channelStatistics(tensor: Tensor): { readonly mean: Tensor; readonly variance: Tensor } {
  const [images = 0, channels = 0, ...space] = tensor.dims;
  const values = float32View(tensor);
  const plane = elementCount(space);
  const [mean, variance] = [new Float32Array(channels), new Float32Array(channels)];
  for (let channel = 0; channel < channels; channel++) {
    let [sum, squares] = [0, 0];
    for (let image = 0; image < images; image++) {
      const start = (image * channels + channel) * plane;
      for (let i = start; i < start + plane; i++) {
        const value = values[i] ?? 0;
        sum += value;
        squares += value * value;
      }
    }
    const average = sum / (images * plane);
    mean[channel] = Number(average.toPrecision(4));
    variance[channel] = Number((squares / (images * plane) - average ** 2).toPrecision(4));
  }
  return { mean: float32Tensor([channels], mean), variance: float32Tensor([channels], variance) };
}

/** Drops the softmax at the end: its input becomes the output. */
function withLogits(graph: Graph): Graph {
  const softmax = graph.nodes.at(-1);
  const [output] = graph.outputs;
  const [logits = ''] = softmax?.inputs ?? [];
  if (softmax?.opType !== 'Softmax' || output === undefined)
    throw new Error(`${sourceName} does not end in Softmax.`);
  return {
    ...graph,
    nodes: graph.nodes.slice(0, -1),
    outputs: [{ ...output, name: logits }],
    values: new Map(),
  };
}
