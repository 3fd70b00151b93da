/** A graph as a session that takes and gives tensors. */
import type { Graph } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';

export interface GraphRunner {
  /** Throws INPUT_INVALID, SESSION_FAILED. */
  run(feeds: ReadonlyMap<string, Tensor>): Promise<GraphOutputs>;
  release(): Promise<void>;
}

export interface GraphOutputs {
  /** Throws INTERNAL for a name that the graph does not give. */
  get(name: string): Tensor;
}

/** Opset 17, which every normalised graph has. */
export function modelOf(graph: Graph) {
  return {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: 'starling',
    metadata: new Map<string, string>(),
    graph,
  };
}

export async function createRunner(backend: Backend, graph: Graph): Promise<GraphRunner> {
  const session = await backend.createSession(saveModel(modelOf(graph)).bytes);
  return {
    release: () => session.release(),
    async run(feeds) {
      const handles = new Map([...feeds].map(([name, tensor]) => [name, backend.upload(tensor)]));
      try {
        const results = new Map<string, Tensor>();
        for (const [name, handle] of await session.run(handles)) {
          results.set(name, await handle.read());
          handle.release();
        }
        return { get: (name) => required(results, name) };
      } finally {
        for (const handle of handles.values()) handle.release();
      }
    },
  };
}

function required(results: ReadonlyMap<string, Tensor>, name: string): Tensor {
  const tensor = results.get(name);
  if (tensor === undefined) throw new StarlingError('INTERNAL', `The graph gave no output "${name}".`);
  return tensor;
}
