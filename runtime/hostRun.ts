/** The host's side of one run: cuts the inputs for the devices and joins the results. Sends and waits through its caller. */
import type { Graph } from '../graph/graph.ts';
import { cutSlab, placeSlab } from '../graph/slabs.ts';
import { byteCount, type Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Feed, Result, RoomProgram } from './lower/program.ts';
import { sameDims } from './sameDims.ts';

/** Throws INPUT_INVALID unless the inputs are exactly those of the graph, with its types and shapes. */
export function checkInputs(
  graph: Graph,
  inputs: Readonly<Record<string, Tensor>>,
  openBatch: boolean,
): void {
  for (const { name, dataType, shape } of graph.inputs) {
    const tensor = Object.hasOwn(inputs, name) ? inputs[name] : undefined;
    const dims = (shape ?? []).map((dim) => (typeof dim === 'number' ? dim : 1));
    const expected = `${dataType} [${dims.join(', ')}]`;
    if (tensor === undefined) {
      throw new StarlingError(
        'INPUT_INVALID',
        `Expected input "${name}" (${expected}), which is missing; give it to run().`,
      );
    }
    if (tensor.dataType !== dataType || !sameDims(dims, tensor.dims, openBatch)) {
      throw new StarlingError(
        'INPUT_INVALID',
        `Expected input "${name}" as ${expected}, got ${tensor.dataType} [${tensor.dims.join(', ')}].`,
      );
    }
    if (dataType !== 'string' && tensor.data.byteLength !== byteCount(dataType, tensor.dims)) {
      throw new StarlingError(
        'INPUT_INVALID',
        `Input "${name}" holds ${tensor.data.byteLength} bytes, which do not fill ${expected}.`,
      );
    }
  }
  const known = new Set(graph.inputs.map(({ name }) => name));
  const extra = Object.keys(inputs).find((name) => !known.has(name));
  if (extra === undefined) return;
  throw new StarlingError(
    'INPUT_INVALID',
    `The model has no input "${extra}"; its inputs are ${[...known].join(', ')}.`,
  );
}

/** What each device gets of the inputs. */
export function* cutFeeds(
  room: RoomProgram,
  inputs: Readonly<Record<string, Tensor>>,
): Generator<{ feed: Feed; tensor: Tensor }> {
  for (const program of room.programs) {
    for (const feed of program.feeds) {
      const whole = inputs[feed.input];
      if (whole !== undefined) yield { feed, tensor: feed.slab === null ? whole : cutSlab(whole, feed.slab) };
    }
  }
}

/** Collects the parts of all outputs of one run. */
export class OutputCollector {
  readonly #graph: Graph;
  readonly #results: ReadonlyMap<number, Result>;
  readonly #parts = new Map<number, Tensor>();

  constructor(graph: Graph, room: RoomProgram) {
    this.#graph = graph;
    this.#results = new Map(
      room.programs.flatMap(({ results }) => results.map((result) => [result.id, result])),
    );
  }

  expects(id: number): boolean {
    return this.#results.has(id) && !this.#parts.has(id);
  }

  put(id: number, tensor: Tensor): void {
    if (this.expects(id)) this.#parts.set(id, tensor);
  }

  get complete(): boolean {
    return this.#parts.size === this.#results.size;
  }

  outputs(): Record<string, Tensor> {
    const outputs: Record<string, Tensor> = {};
    for (const { name } of this.#graph.outputs) {
      const constant = this.#graph.initializers.get(name);
      outputs[name] = constant ?? this.#join(name);
    }
    return outputs;
  }

  #join(name: string): Tensor {
    const parts = [...this.#results.values()].filter(({ output }) => output === name);
    const [first] = parts;
    const whole = first === undefined ? undefined : this.#parts.get(first.id);
    if (first === undefined || whole === undefined) {
      throw new StarlingError(
        'INTERNAL',
        `Output "${name}" was asked for before all of its parts were there.`,
      );
    }
    if (first.slab === null || whole.dataType === 'string') return whole;
    const { axis } = first.slab;
    const value = this.#graph.outputs.find((output) => output.name === name);
    const length = value?.shape?.[axis];
    const dims = whole.dims.map((dim, i) => (i === axis && typeof length === 'number' ? length : dim));
    const data = new Uint8Array(byteCount(whole.dataType, dims));
    for (const { id, slab } of parts) {
      const part = this.#parts.get(id);
      if (part !== undefined && slab !== null) placeSlab(data, dims, slab, part);
    }
    return { dataType: whole.dataType, dims, data };
  }
}
