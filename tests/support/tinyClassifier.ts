/** A small residual network and pictures that it can learn, for tests of training. */

import type { Pictures } from '../../compiler/train/pictures.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { normal, seededRandom } from '../../graph/random.ts';
import { elementCount, float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';

export const tinyBatch = 16;
const size = 8;
const classes = 4;

/** Bright stripes, up and down or across, wide or narrow, under noise. */
export function tinyPictures(count: number, seed: number): Pictures {
  const random = seededRandom(seed);
  const labels = Uint8Array.from({ length: count }, () => Math.floor(random() * classes));
  const images = new Uint8Array(count * 3 * size * size);
  for (let i = 0; i < images.length; i++) {
    const x = i % size;
    const y = Math.floor(i / size) % size;
    const label = labels[Math.floor(i / (3 * size * size))] ?? 0;
    const stripe = Math.floor((label % 2 === 0 ? x : y) / (label < 2 ? 1 : 2)) % 2;
    images[i] = Math.min(255, Math.max(0, 60 + 120 * stripe + 25 * normal(random)));
  }
  return {
    count,
    size,
    images,
    labels,
    mean: [0.5, 0.5, 0.5],
    deviation: [0.25, 0.25, 0.25],
  };
}

const ints = (...value: number[]): Attribute => ({ type: 'ints', value });

/** Random weights; concrete shapes; 8 channels, one residual addition. */
export function tinyClassifier(seed: number): Graph {
  const random = seededRandom(seed);
  const initializers = new Map<string, Tensor>([['flat', int64Tensor([tinyBatch, 8])]]);
  const values = new Map();
  const weight = (name: string, dims: readonly number[], deviation: number): string => {
    initializers.set(
      name,
      float32Tensor(
        dims,
        Array.from({ length: elementCount(dims) }, () => deviation * normal(random)),
      ),
    );
    return name;
  };
  const nodes: Node[] = [];
  const add = (
    opType: string,
    inputs: readonly string[],
    output: string,
    shape: readonly number[],
    attributes: Readonly<Record<string, Attribute>> = {},
  ): string => {
    nodes.push({
      name: `make ${output}`,
      opType,
      domain: '',
      inputs,
      outputs: [output],
      attributes: new Map(Object.entries(attributes)),
    });
    values.set(output, { name: output, dataType: 'float32', shape });
    return output;
  };
  const map = [tinyBatch, 8, size, size];
  const conv = (input: string, output: string, inputs: number): string => {
    const names = [
      weight(`${output} w`, [8, inputs, 3, 3], Math.sqrt(2 / (9 * inputs))),
      weight(`${output} b`, [8], 0.1),
    ];
    return add('Conv', [input, ...names], output, map, { pads: ints(1, 1, 1, 1) });
  };
  const a = add('Relu', [conv('pictures', 'c1', 3)], 'r1', map);
  const b = add('Relu', [conv(a, 'c2', 8)], 'r2', map);
  const c = add('Relu', [add('Add', [conv(b, 'c3', 8), a], 's', map)], 'r3', map);
  const pooled = add('GlobalAveragePool', [c], 'pooled', [tinyBatch, 8, 1, 1]);
  const flat = add('Reshape', [pooled, 'flat'], 'features', [tinyBatch, 8]);
  add('Gemm', [flat, weight('head w', [8, classes], 0.3), weight('head b', [classes], 0.1)], 'logits', [
    tinyBatch,
    classes,
  ]);
  values.delete('logits');
  return {
    name: 'tiny',
    inputs: [{ name: 'pictures', dataType: 'float32', shape: [tinyBatch, 3, size, size] }],
    outputs: [{ name: 'logits', dataType: 'float32', shape: [tinyBatch, classes] }],
    nodes,
    initializers,
    values,
  };
}
