/**
 * Finds out whether a normalised graph, made for one sample, also runs a batch: from the graph where it says so, else by
 * trying two samples.
 */
import type { Graph, Model, ValueInfo } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { float32View, type Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { batchAxis } from './batchwise.ts';
import { profileFeeds } from './profileFeeds.ts';

/** Largest difference between a sample in a batch and alone, relative to the largest output. */
const tolerance = 1e-4;

/** True where every sample of a batch gives what it gives alone. */
export async function isBatchOpen(model: Model, backend: Backend): Promise<boolean> {
  const { inputs, outputs } = model.graph;
  const [batch] = inputs[0]?.shape ?? [];
  const alike = [...inputs, ...outputs].every(({ shape }) => shape?.[0] === batch);
  if (typeof batch !== 'number' || !alike) return false;
  const axis = batchAxis(model.graph);
  return axis === 'unknown' ? triesBatch(model, backend) : axis === 'open';
}

/** Runs two samples in one batch, and each alone. */
export async function triesBatch(model: Model, backend: Backend): Promise<boolean> {
  const { graph } = model;
  const [first, second] = [profileFeeds(graph.inputs, 1), profileFeeds(graph.inputs, 2)];
  const both = new Map(
    [...first].map(([name, tensor]) => [name, joined(tensor, second.get(name) ?? tensor)]),
  );
  try {
    const [together, a, b] = await runInTurn(backend, openBatch(model), [both, first, second]);
    return graph.outputs.every(({ name }) => {
      const [whole, one, other] = [together?.get(name), a?.get(name), b?.get(name)];
      return (
        whole !== undefined && one !== undefined && other !== undefined && agree(whole, joined(one, other))
      );
    });
  } catch (thrown) {
    if (thrown instanceof StarlingError) return false;
    throw thrown;
  }
}

/** The model with a symbolic batch, and without the shapes of values between, which would forbid another batch. */
export function openBatch(model: Model): Model {
  const opened = ({ name, dataType, shape = [] }: ValueInfo): ValueInfo => ({
    name,
    dataType,
    shape: ['N', ...shape.slice(1)],
  });
  const graph: Graph = {
    ...model.graph,
    inputs: model.graph.inputs.map(opened),
    outputs: model.graph.outputs.map(opened),
    values: new Map(),
  };
  return { ...model, graph };
}

/** One session, run with one set of inputs after the other. */
async function runInTurn(
  backend: Backend,
  model: Model,
  feeds: readonly ReadonlyMap<string, Tensor>[],
): Promise<ReadonlyMap<string, Tensor>[]> {
  const session = await backend.createSession(saveModel(model).bytes);
  const results: Map<string, Tensor>[] = [];
  try {
    for (const feed of feeds) {
      const inputs = new Map([...feed].map(([name, tensor]) => [name, backend.upload(tensor)]));
      const outputs = new Map<string, Tensor>();
      try {
        for (const [name, handle] of await session.run(inputs)) {
          outputs.set(name, await handle.read());
          handle.release();
        }
      } finally {
        for (const handle of inputs.values()) handle.release();
      }
      results.push(outputs);
    }
  } finally {
    await session.release();
  }
  return results;
}

function joined(a: Tensor, b: Tensor): Tensor {
  const data = new Uint8Array(a.data.byteLength + b.data.byteLength);
  data.set(a.data);
  data.set(b.data, a.data.byteLength);
  return { dataType: a.dataType, dims: [(a.dims[0] ?? 0) + (b.dims[0] ?? 0), ...a.dims.slice(1)], data };
}

function agree(actual: Tensor, expected: Tensor): boolean {
  if (actual.dims.join() !== expected.dims.join()) return false;
  if (actual.dataType !== 'float32') return actual.data.every((byte, i) => byte === expected.data[i]);
  const values = float32View(expected);
  const scale = values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);
  return float32View(actual).every((value, i) => Math.abs(value - (values[i] ?? 0)) <= tolerance * scale);
}
