/** A model of 302 MB whose arithmetic is small: a chain of square matrices, all different. */

import type { Model, Node } from '../../../graph/graph.ts';
import { seededRandom } from '../../../graph/random.ts';
import { saveModel } from '../../../graph/save.ts';
import { float32Tensor } from '../../../graph/tensor.ts';

export const largeWidth = 3072;
const layers = 8;

/** `vector` (1 x 3072) to `result` (1 x 3072). */
export function largeModel(): Uint8Array {
  const random = seededRandom(300);
  const deviation = Math.sqrt(3 / largeWidth);
  const names = Array.from({ length: layers }, (_, i) => `matrix${i}`);
  const matrices = names.map((name) => {
    const values = new Float32Array(largeWidth * largeWidth);
    for (let i = 0; i < values.length; i++) values[i] = deviation * (2 * random() - 1);
    return [name, float32Tensor([largeWidth, largeWidth], values)] as const;
  });
  const nodes = names.map((name, i): Node => {
    const [input, output] = [
      i === 0 ? 'vector' : `hidden${i}`,
      i === layers - 1 ? 'result' : `hidden${i + 1}`,
    ];
    return {
      name,
      opType: 'MatMul',
      domain: '',
      inputs: [input, name],
      outputs: [output],
      attributes: new Map(),
    };
  });
  const model: Model = {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: 'test',
    metadata: new Map(),
    graph: {
      name: 'large',
      inputs: [{ name: 'vector', dataType: 'float32', shape: [1, largeWidth] }],
      outputs: [{ name: 'result', dataType: 'float32', shape: [1, largeWidth] }],
      nodes,
      initializers: new Map(matrices),
      values: new Map(),
    },
  };
  return saveModel(model).bytes;
}
