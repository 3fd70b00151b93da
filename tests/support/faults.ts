/**
 * Faults of a room, injected from outside: what a device receives, a weight it is given, the rows it cuts for a
 * neighbour. Each wraps a part that the runtime takes as an argument; the runtime itself is never changed.
 */
import { boxDims } from '../../graph/boxes.ts';
import type { Graph, Node } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { saveModel } from '../../graph/save.ts';
import { elementCount, float32View, int64Tensor, readIntegers, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Plan } from '../../runtime/plan.ts';
import type { WeightSource } from '../../runtime/weights/blob.ts';

/** Something that can go wrong once; `fired` says whether it did. */
export interface Fault<T> {
  readonly faulty: T;
  readonly fired: boolean;
}

/** A tensor made wrong, or undefined where the change would change nothing. */
export type Corruption = (tensor: Tensor) => Tensor | undefined;

/** The first received tensor of these dimensions that `corrupt` can change arrives changed. */
export function faultyArrival(
  backend: Backend,
  dims: readonly number[],
  corrupt: Corruption,
): Fault<Backend> {
  let fired = false;
  return {
    faulty: {
      ...backend,
      upload(tensor) {
        if (fired || tensor.dims.join() !== dims.join()) return backend.upload(tensor);
        const changed = corrupt(tensor);
        fired = changed !== undefined;
        return backend.upload(changed ?? tensor);
      },
    },
    get fired() {
      return fired;
    },
  };
}

/** Zeros, as if the exchange had never been sent. */
export const dropped: Corruption = (tensor) =>
  tensor.data.some((byte) => byte !== 0)
    ? { ...tensor, data: new Uint8Array(tensor.data.byteLength) }
    : undefined;

/**
 * Exchanges the last feature (index along `axis`) and the one whose mean lies furthest from its own. The last, because of a
 * fused projection to queries, keys and values the receiver reads all but the first.
 */
export function swappedFeatures(axis: number): Corruption {
  return (tensor) => {
    const length = tensor.dims[axis] ?? 1;
    const outer = elementCount(tensor.dims.slice(0, axis));
    const inner = elementCount(tensor.dims.slice(axis + 1));
    const values = float32View(tensor).slice();
    const means = Array.from({ length }, (_, index) => {
      let sum = 0;
      for (let i = 0; i < outer; i++) {
        const start = (i * length + index) * inner;
        for (let k = start; k < start + inner; k++) sum += values[k] ?? 0;
      }
      return sum;
    });
    const last = length - 1;
    const distances = means.map((mean) => Math.abs(mean - (means[last] ?? 0)));
    const other = distances.indexOf(Math.max(...distances));
    if (distances[other] === 0) return undefined;
    for (let i = 0; i < outer; i++) {
      const [a, b] = [(i * length + last) * inner, (i * length + other) * inner];
      const kept = values.slice(a, a + inner);
      values.copyWithin(a, b, b + inner);
      values.set(kept, b);
    }
    return { ...tensor, data: new Uint8Array(values.buffer) };
  };
}

/** The device that asks first for the weight `name` gets it rotated by one index: each filter in its neighbour's place. */
export function faultyWeight(source: WeightSource, plan: Plan, name: string): Fault<WeightSource> {
  const dims = plan.model.graph.initializers.get(name)?.dims ?? [];
  let fired = false;
  return {
    faulty: {
      boxes(wanted) {
        const boxes = source.boxes(wanted);
        if (fired || wanted !== name) return boxes;
        fired = true;
        return boxes.map(({ selections, data }) => {
          const own = boxDims(dims, selections);
          const along = own.findIndex((dim) => dim > 1);
          const step = data.byteLength / elementCount(own.slice(0, along + 1));
          const rotated = new Uint8Array(data.byteLength);
          rotated.set(data.subarray(step));
          rotated.set(data.subarray(0, step), data.byteLength - step);
          return { selections, data: rotated };
        });
      },
    },
    get fired() {
      return fired;
    },
  };
}

/**
 * The Slice node that cuts `output` takes the rows one before. Devices have names of their own for their own strips: a
 * slice of that name that begins at the first row is another device's, and is left alone.
 */
export function faultySlice(backend: Backend, output: string): Fault<Backend> {
  let fired = false;
  return {
    faulty: {
      ...backend,
      createSession(bytes, externalData = []) {
        const read = (path: string) =>
          externalData.find((file) => file.path === path)?.data ?? new Uint8Array(0);
        const model = loadModel(bytes, read);
        const graph = withShiftedSlice(model.graph, output);
        if (graph === undefined) return backend.createSession(bytes, externalData);
        fired = true;
        return backend.createSession(saveModel({ ...model, graph }).bytes);
      },
    },
    get fired() {
      return fired;
    },
  };
}

function withShiftedSlice(graph: Graph, output: string): Graph | undefined {
  const slice = graph.nodes.find((node) => node.opType === 'Slice' && node.outputs[0] === output);
  const [, start, end] = (slice?.inputs ?? []).map((name) => {
    const tensor = graph.initializers.get(name);
    return tensor === undefined ? undefined : readIntegers(tensor)[0];
  });
  if (slice === undefined || start === undefined || end === undefined || start < 1) return undefined;
  const limits = { [`${output} start`]: start - 1, [`${output} end`]: end - 1 };
  const shifted: Node = {
    ...slice,
    inputs: [slice.inputs[0] ?? '', ...Object.keys(limits), ...slice.inputs.slice(3)],
  };
  const initializers = new Map(graph.initializers);
  for (const [name, value] of Object.entries(limits)) initializers.set(name, int64Tensor([value]));
  return { ...graph, nodes: graph.nodes.map((node) => (node === slice ? shifted : node)), initializers };
}
