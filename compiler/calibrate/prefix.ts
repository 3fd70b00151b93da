/** The part of a model that computes some of its values, with any batch, as a session that gives them. Chooses none. */
import type { Graph, Model } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { valuesRead } from '../../graph/sort.ts';
import { elementCount, float32View, type Tensor } from '../../graph/tensor.ts';
import type { Backend, Session, TensorHandle } from '../../runtime/backend.ts';

/** Inputs of one or more samples, by name. */
export type Batch = Readonly<Record<string, Tensor>>;

export interface Observed {
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

export interface Prefix {
  run(batch: Batch): Promise<ReadonlyMap<string, Observed>>;
  release(): Promise<void>;
}

/** Bytes of these values as float32 for one sample; what is open counts as 1. */
export function valueBytes(graph: Graph, names: Iterable<string>): number {
  return [...names].reduce((total, name) => {
    const shape = graph.values.get(name)?.shape ?? [];
    return total + 4 * elementCount(shape.map((dim) => (typeof dim === 'number' ? dim : 1)));
  }, 0);
}

/** Only the nodes and weights that `values` need. */
function prefixGraph(graph: Graph, values: readonly string[]): Graph {
  const wanted = new Set(values);
  const nodes = graph.nodes
    .toReversed()
    .filter((node) => {
      if (!node.outputs.some((output) => wanted.has(output))) return false;
      for (const name of valuesRead(node)) wanted.add(name);
      return true;
    })
    .reverse();
  const produced = values.filter((name) => nodes.some((node) => node.outputs.includes(name)));
  return {
    name: graph.name,
    inputs: graph.inputs.flatMap((input) =>
      wanted.has(input.name) ? [{ ...input, shape: ['N', ...(input.shape ?? []).slice(1)] }] : [],
    ),
    // The runtime finds the types; float32 is only a placeholder.
    outputs: [...new Set(produced)].map((name) => ({ name, dataType: 'float32', untyped: true })),
    nodes,
    initializers: new Map([...graph.initializers].filter(([name]) => wanted.has(name))),
    values: new Map(),
  };
}

/** Values may be inputs of the graph too. */
export async function openPrefix(model: Model, values: readonly string[], backend: Backend): Promise<Prefix> {
  const graph = prefixGraph(model.graph, values);
  const fed = values.filter((name) => model.graph.inputs.some((input) => input.name === name));
  let session: Session | undefined;
  if (graph.nodes.length > 0) session = await backend.createSession(saveModel({ ...model, graph }).bytes);
  return {
    async run(batch) {
      const result = new Map<string, Observed>();
      for (const name of fed) {
        const tensor = batch[name];
        if (tensor !== undefined) result.set(name, { dims: tensor.dims, data: float32View(tensor) });
      }
      if (session === undefined) return result;
      const inputs = new Map<string, TensorHandle>();
      for (const { name } of graph.inputs) {
        const tensor = batch[name];
        if (tensor !== undefined) inputs.set(name, backend.upload(tensor));
      }
      try {
        for (const [name, handle] of await session.run(inputs)) {
          const tensor = await handle.read();
          result.set(name, { dims: tensor.dims, data: float32View(tensor) });
          handle.release();
        }
      } finally {
        for (const handle of inputs.values()) handle.release();
      }
      return result;
    },
    release: async () => session?.release(),
  };
}
