/** A small residual classifier with random weights, normalised, and random pictures for it: for tests of sparse divisions. */

import type { Calibration } from '../../compiler/calibrate/calibration.ts';
import { normaliseModel } from '../../compiler/normalise/normaliseModel.ts';
import type { Attribute, Model, Node } from '../../graph/graph.ts';
import { normal, seededRandom } from '../../graph/random.ts';
import { elementCount, float32Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';

const size = 6;

/** `width` channels: a stem, `blocks` residual blocks, pooling, 5 classes. */
export async function blockNetwork(
  backend: Backend,
  width: number,
  blocks: number,
  seed = 1,
): Promise<Model> {
  const random = seededRandom(seed);
  const initializers = new Map<string, Tensor>();
  const nodes: Node[] = [];
  const weight = (name: string, dims: readonly number[], deviation: number) => {
    const values = Array.from({ length: elementCount(dims) }, () => deviation * normal(random));
    initializers.set(name, float32Tensor(dims, values));
    return name;
  };
  const add = (
    opType: string,
    inputs: string[],
    output: string,
    attributes: Record<string, Attribute> = {},
  ) => {
    nodes.push({
      name: `${opType} ${output}`,
      opType,
      domain: '',
      inputs,
      outputs: [output],
      attributes: new Map(Object.entries(attributes)),
    });
    return output;
  };
  const conv = (input: string, inputs: number, output: string) =>
    add(
      'Conv',
      [
        input,
        weight(`${output} w`, [width, inputs, 3, 3], Math.sqrt(2 / (9 * inputs))),
        weight(`${output} b`, [width], 0.1),
      ],
      output,
      { pads: { type: 'ints', value: [1, 1, 1, 1] } },
    );
  let x = add('Relu', [conv('pictures', 3, 'stem')], 'x0');
  for (let block = 1; block <= blocks; block++) {
    const inner = add('Relu', [conv(x, width, `inner${block}`)], `rectified${block}`);
    const sum = add('Add', [conv(inner, width, `outer${block}`), x], `sum${block}`);
    x = add('Relu', [sum], `x${block}`);
  }
  const flat = add('Flatten', [add('GlobalAveragePool', [x], 'pooled')], 'features');
  add('Gemm', [flat, weight('head w', [width, 5], 1), weight('head b', [5], 0.1)], 'logits');
  const model: Model = {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'blocks',
      inputs: [{ name: 'pictures', dataType: 'float32', shape: ['N', 3, size, size] }],
      outputs: [{ name: 'logits', dataType: 'float32', shape: ['N', 5] }],
      nodes,
      initializers,
      values: new Map(),
    },
  };
  return (await normaliseModel(model, { backend })).model;
}

/** Smooth random pictures, the same at every reading. */
export function blockPictures(samples: number, batch: number, seed = 2): Calibration {
  return {
    samples,
    *batches() {
      const random = seededRandom(seed);
      for (let start = 0; start < samples; start += batch) {
        const count = Math.min(batch, samples - start);
        const data = new Float32Array(count * 3 * size * size);
        for (let plane = 0; plane < count * 3; plane++) {
          const [level, across, down] = [normal(random), normal(random), normal(random)];
          for (let i = 0; i < size * size; i++) {
            const [row, column] = [Math.floor(i / size) / size - 0.5, (i % size) / size - 0.5];
            data[plane * size * size + i] =
              level + 2 * across * column + 2 * down * row + 0.3 * normal(random);
          }
        }
        yield { pictures: float32Tensor([count, 3, size, size], data) };
      }
    },
  };
}
