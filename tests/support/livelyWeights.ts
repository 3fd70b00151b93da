/** A model whose matrices of one repeated value are filled at random, so that its output depends on its input. */

import type { Model } from '../../graph/graph.ts';
import { seededRandom } from '../../graph/random.ts';
import { float32View, type Tensor } from '../../graph/tensor.ts';
import { randomNormals } from './random.ts';

/**
 * Some files of ../shared/models hold a weight that is one value throughout (a head of zeros), which makes every output
 * alike whatever the layers before compute: such a model would show nothing.
 */
export function withLivelyWeights(model: Model): Model {
  const random = seededRandom(3);
  const initializers = [...model.graph.initializers].map(([name, tensor]): [string, Tensor] => {
    if (tensor.dataType !== 'float32' || tensor.dims.length < 2) return [name, tensor];
    const values = float32View(tensor);
    const fanIn = values.length / (tensor.dims[0] ?? 1);
    return [
      name,
      values.every((value) => value === values[0])
        ? randomNormals(random, tensor.dims, 1 / Math.sqrt(fanIn))
        : tensor,
    ];
  });
  return { ...model, graph: { ...model.graph, initializers: new Map(initializers) } };
}
