/** How fast a device is, relative to referenceDevice: from stages that have been timed, or from a small model of ours. */
import type { Graph, Model, Node } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { byteCount, elementCount } from '../../graph/tensor.ts';
import type { Backend } from '../backend.ts';
import type { Clock } from '../clock.ts';
import type { Program, Stage } from '../lower/program.ts';
import { referenceDevice } from './costModel.ts';
import { stageMs } from './simulate.ts';

export interface TimedStage {
  readonly stage: Stage;
  /** The shortest of several runs. */
  readonly ms: number;
}

/** Null where nothing was timed. */
export function speedOfStages(program: Program, timed: readonly TimedStage[]): number | null {
  const measured = timed.reduce((sum, { ms }) => sum + ms, 0);
  const predicted = timed.reduce((sum, { stage }) => sum + stageMs(program, stage, referenceDevice), 0);
  return measured > 0 && predicted > 0 ? predicted / measured : null;
}

/** A convolution of 64 features of 28 x 28 with 3 x 3, and an activation: what most of a network's time goes to. */
const features = 64;
const side = 28;
const layers = 4;

/** Before any plan is loaded; a later measurement on a plan is better. Some 10 to 50 ms. */
export async function measureSpeed(backend: Backend, clock: Clock, runs = 4): Promise<number> {
  const dims = [1, features, side, side];
  const session = await backend.createSession(saveModel(sampleModel(dims)).bytes);
  const input = backend.upload({
    dataType: 'float32',
    dims,
    data: new Uint8Array(byteCount('float32', dims)),
  });
  let best = Number.POSITIVE_INFINITY;
  for (let run = 0; run < runs; run++) {
    const start = clock.now();
    const outputs = await session.run(new Map([['x0', input]]));
    best = Math.min(best, clock.now() - start);
    for (const output of outputs.values()) output.release();
  }
  input.release();
  await session.release();
  return referenceMs(dims) / Math.max(best, 0.01);
}

function referenceMs(dims: readonly number[]): number {
  const { stageMs: start, nodeMs, macsPerMs, elementsPerMs } = referenceDevice;
  const elements = elementCount(dims);
  const layer = 2 * nodeMs + (elements * features * 9) / macsPerMs + (2 * elements) / elementsPerMs;
  return start + layers * layer;
}

function sampleModel(dims: readonly number[]): Model {
  const weight = Float32Array.from({ length: features * features * 9 }, (_, i) => Math.sin(i) / 24);
  const nodes: Node[] = [];
  for (let i = 0; i < layers; i++) {
    nodes.push({
      name: `conv${i}`, opType: 'Conv', domain: '', inputs: [`x${i}`, 'w'], outputs: [`y${i}`],
      attributes: new Map([['pads', { type: 'ints', value: [1, 1, 1, 1] }]]),
    }, {
      name: `bent${i}`, opType: 'LeakyRelu', domain: '', inputs: [`y${i}`], outputs: [`x${i + 1}`], attributes: new Map(),
    }); // biome-ignore format: two records
  }
  const graph: Graph = {
    name: 'speed',
    inputs: [{ name: 'x0', dataType: 'float32', shape: dims }],
    outputs: [{ name: `x${layers}`, dataType: 'float32', shape: dims }],
    nodes,
    initializers: new Map([
      ['w', { dataType: 'float32', dims: [features, features, 3, 3], data: new Uint8Array(weight.buffer) }],
    ]),
    values: new Map(),
  };
  return { irVersion: 8, opsets: new Map([['', 17]]), producer: 'starling', metadata: new Map(), graph };
}
