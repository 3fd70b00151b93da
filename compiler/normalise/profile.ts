/**
 * Runs a graph once, a few nodes at a time, to learn every value's type and shape and the constants it computes.
 * Values are released as soon as nothing needs them, so that a large model passes in a small heap.
 */
import type { Graph, Model, Node, ValueInfo } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { valuesRead } from '../../graph/sort.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend, TensorHandle } from '../../runtime/backend.ts';
import { constantValues } from './constantValues.ts';

export interface Profile {
  /** Concrete types and shapes of all values that nodes put out. */
  readonly values: ReadonlyMap<string, ValueInfo>;
  /** Values that do not depend on the inputs, as computed. */
  readonly constants: ReadonlyMap<string, Tensor>;
}

/** Nodes and bytes of weights per session: fewer cost time to create sessions, more cost memory. */
const segmentNodes = 16;
const segmentWeightBytes = 8 * 2 ** 20;

/** Index of the first node behind the segment that begins at `start`. */
function segmentEnd(nodes: readonly Node[], start: number, known: ReadonlyMap<string, Tensor>): number {
  let bytes = 0;
  for (let end = start; end < nodes.length && end < start + segmentNodes; end++) {
    for (const name of nodes[end]?.inputs ?? []) bytes += known.get(name)?.data.byteLength ?? 0;
    if (bytes > segmentWeightBytes && end > start) return end;
  }
  return Math.min(nodes.length, start + segmentNodes);
}

/** Throws MODEL_UNSUPPORTED naming the node that the backend cannot run. */
export async function profileModel(
  model: Model,
  backend: Backend,
  feeds: ReadonlyMap<string, Tensor>,
): Promise<Profile> {
  const { graph } = model;
  const known = new Map(graph.initializers);
  const constants = constantValues(graph);
  const values = new Map<string, ValueInfo>();
  const lastUse = lastUses(graph);
  const live = new Map<string, TensorHandle>();
  try {
    for (const [name, tensor] of feeds) live.set(name, backend.upload(tensor));
    for (let start = 0, end = 0; start < graph.nodes.length; start = end) {
      end = segmentEnd(graph.nodes, start, known);
      const segment = graph.nodes.slice(start, end);
      for (const [name, handle] of await runSegment(model, segment, backend, known, live)) {
        values.set(name, { name, dataType: handle.dataType, shape: handle.dims });
        if (constants.has(name)) known.set(name, await handle.read());
        live.set(name, handle);
      }
      for (const [name, handle] of live) {
        if (!known.has(name) && (lastUse.get(name) ?? -1) >= end) continue;
        live.delete(name);
        handle.release();
      }
    }
  } finally {
    for (const handle of live.values()) handle.release();
  }
  return { values, constants: new Map([...known].filter(([name]) => constants.has(name))) };
}

async function runSegment(
  model: Model,
  nodes: readonly Node[],
  backend: Backend,
  known: ReadonlyMap<string, Tensor>,
  live: ReadonlyMap<string, TensorHandle>,
): Promise<ReadonlyMap<string, TensorHandle>> {
  const produced = new Set(nodes.flatMap((node) => node.outputs.filter((name) => name !== '')));
  const reads = new Set(nodes.flatMap((node) => valuesRead(node)).filter((name) => !produced.has(name)));
  const initializers = new Map<string, Tensor>();
  const inputs = new Map<string, TensorHandle>();
  for (const name of reads) {
    const constant = known.get(name);
    const handle = live.get(name);
    if (constant !== undefined) initializers.set(name, constant);
    else if (handle !== undefined) inputs.set(name, handle);
  }
  const graph: Graph = {
    name: model.graph.name,
    inputs: [...inputs].map(([name, handle]) => ({ name, dataType: handle.dataType, shape: handle.dims })),
    // The runtime finds the types; float32 is only a placeholder.
    outputs: [...produced].map((name) => ({ name, dataType: 'float32', untyped: true })),
    nodes,
    initializers,
    values: new Map(),
  };
  try {
    const session = await backend.createSession(saveModel({ ...model, graph }).bytes);
    try {
      return await session.run(inputs);
    } finally {
      await session.release();
    }
  } catch (thrown) {
    const [only, ...others] = nodes;
    if (only !== undefined && others.length === 0) {
      throw new StarlingError(
        'MODEL_UNSUPPORTED',
        `Node "${only.name}" (${only.opType}) could not be run: ${thrown instanceof Error ? thrown.message : String(thrown)}`,
        { cause: thrown },
      );
    }
    return runOneByOne(model, nodes, backend, known, live);
  }
}

/** Finds the node at fault, which one error for a whole segment does not name. */
async function runOneByOne(
  model: Model,
  nodes: readonly Node[],
  backend: Backend,
  known: ReadonlyMap<string, Tensor>,
  live: ReadonlyMap<string, TensorHandle>,
): Promise<ReadonlyMap<string, TensorHandle>> {
  const results = new Map<string, TensorHandle>();
  try {
    for (const node of nodes) {
      const outputs = await runSegment(model, [node], backend, known, new Map([...live, ...results]));
      for (const [name, handle] of outputs) results.set(name, handle);
    }
    return results;
  } catch (thrown) {
    for (const handle of results.values()) handle.release();
    throw thrown;
  }
}

function lastUses(graph: Graph): ReadonlyMap<string, number> {
  const uses = new Map<string, number>();
  graph.nodes.forEach((node, i) => {
    for (const name of valuesRead(node)) uses.set(name, i);
  });
  return uses;
}
