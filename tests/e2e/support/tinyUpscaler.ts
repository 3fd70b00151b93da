/** A small network that makes a picture four times as large, with seeded weights: every layer is divided, and exchanged. */

import type { Attribute, Model, Node } from '../../../graph/graph.ts';
import { seededRandom } from '../../../graph/random.ts';
import { saveModel } from '../../../graph/save.ts';
import type { Tensor } from '../../../graph/tensor.ts';
import { randomNormals } from '../../support/random.ts';

export const side = 48;
export const scale = 4;
/** Four convolutions of 3 x 3 before the enlargement. */
export const receptiveRadius = 4;

/** `picture` (1 x 3 x 48 x 48) to `large` (1 x 3 x 192 x 192). */
export function tinyUpscaler(channels = 32): Uint8Array {
  const random = seededRandom(20261130);
  const initializers = new Map<string, Tensor>();
  const nodes: Node[] = [];
  const conv = (name: string, input: string, from: number, to: number) => {
    initializers.set(`${name}.w`, randomNormals(random, [to, from, 3, 3], Math.sqrt(1 / (from * 9))));
    initializers.set(`${name}.b`, randomNormals(random, [to], 0.1));
    nodes.push(node('Conv', name, [input, `${name}.w`, `${name}.b`], { pads: ints(1, 1, 1, 1) }));
  };
  conv('first', 'picture', 3, channels);
  nodes.push(node('LeakyRelu', 'first.bent', ['first'], { alpha: { type: 'float', value: 0.2 } }));
  conv('second', 'first.bent', channels, channels);
  nodes.push(node('LeakyRelu', 'second.bent', ['second'], { alpha: { type: 'float', value: 0.2 } }));
  conv('third', 'second.bent', channels, channels);
  nodes.push(node('Add', 'sum', ['third', 'first.bent']));
  conv('last', 'sum', channels, 3 * scale * scale);
  nodes.push(node('DepthToSpace', 'large', ['last'], { blocksize: { type: 'int', value: scale } }));
  const model: Model = {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: 'test',
    metadata: new Map(),
    graph: {
      name: 'tiny-upscaler',
      inputs: [{ name: 'picture', dataType: 'float32', shape: [1, 3, side, side] }],
      outputs: [{ name: 'large', dataType: 'float32', shape: [1, 3, side * scale, side * scale] }],
      nodes,
      initializers,
      values: new Map(),
    },
  };
  return saveModel(model).bytes;
}

function node(
  opType: string,
  output: string,
  inputs: readonly string[],
  attributes: Readonly<Record<string, Attribute>> = {},
): Node {
  const named = new Map(Object.entries(attributes));
  return { name: output, opType, domain: '', inputs, outputs: [output], attributes: named };
}

const ints = (...value: number[]): Attribute => ({ type: 'ints', value });

/** A picture for tests: the same numbers in Node and, from the same formula, in a page. */
export function testPicture(seed: number, height = side, width = side): Float32Array {
  return Float32Array.from(
    { length: 3 * height * width },
    (_, i) => 0.5 + 0.3 * Math.sin(i * 0.013 + seed) + 0.2 * Math.sin(i * 1.7 * (seed + 1)),
  );
}
