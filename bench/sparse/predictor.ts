/** A normalised model in one session, for inputs of any size that the original took. Zero weights stay in it: slow, but the same function. */

import type { Predict } from '../../eval/task.ts';
import type { Model } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';

export interface ModelPredictor {
  readonly predict: Predict;
  release(): Promise<void>;
}

/** `original` says which dimensions of the input are open; the first always is. */
export async function openPredictor(
  { graph, ...model }: Model,
  original: Model,
  backend: Backend,
): Promise<ModelPredictor> {
  const [input = ''] = graph.inputs.map(({ name }) => name);
  const shapeOf = (name: string) => original.graph.inputs.find((other) => other.name === name)?.shape ?? [];
  const open = {
    ...graph,
    inputs: graph.inputs.map((info) => ({ ...info, shape: ['N', ...shapeOf(info.name).slice(1)] })),
    outputs: graph.outputs.map(({ name }) => ({
      name,
      dataType: 'float32' as const,
      untyped: true as const,
    })),
    values: new Map(),
  };
  const session = await backend.createSession(saveModel({ ...model, graph: open }).bytes);
  return {
    async predict(values, dims) {
      const fed = backend.upload(float32Tensor(dims, values));
      try {
        const outputs = [];
        for (const [name, handle] of await session.run(new Map([[input, fed]]))) {
          const tensor = await handle.read();
          handle.release();
          outputs.push({ name, dims: tensor.dims, data: float32View(tensor) });
        }
        return outputs;
      } finally {
        fed.release();
      }
    },
    release: () => session.release(),
  };
}
