/**
 * Walks through a model from its inputs to its outputs and shows values of every calibration sample on the way. What later
 * steps need is kept where it fits, so that a step runs only the nodes after the last; where it does not fit, from the
 * inputs again.
 */
import type { Graph, Model } from '../../graph/graph.ts';
import { valuesRead } from '../../graph/sort.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import type { Calibration } from './calibration.ts';
import { type Batch, type Observed, openPrefix, valueBytes } from './prefix.ts';

export interface WalkOptions {
  readonly backend: Backend;
  readonly calibration: Calibration;
  /** What each step will ask for, in order. */
  readonly steps: readonly (readonly string[])[];
  /** Bytes of values that may be kept between steps. */
  readonly keptBytes: number;
}

export type Observation = ReadonlyMap<string, Observed>;

/** One batch after another; a batch's inputs are asked for only while something must be computed from them. */
export class Walk {
  readonly #options: WalkOptions;
  /** [batch] value -> elements. */
  readonly #kept: Map<string, Observed>[] = [];
  #keptNames: ReadonlySet<string> = new Set();
  #bytes = 0;

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  /** Values of step `step` in `model`, whose weights may have changed only after what earlier steps asked for. */
  async *observe(model: Model, step: number): AsyncGenerator<Observation> {
    const values = this.#options.steps[step] ?? [];
    const arrived = new Set(values);
    let index = 0;
    for await (const { seen, made } of this.#computed(model, values)) {
      yield new Map(values.flatMap((name) => entryOf(seen, name)));
      const kept = this.#kept[index++] ?? new Map<string, Observed>();
      for (const [name, value] of made) {
        if (!kept.has(name) && !this.#keep(kept, name, value)) arrived.delete(name);
      }
    }
    this.#settle(model.graph, new Set([...this.#keptNames, ...arrived]), step + 1);
  }

  /** What any model of such weights makes of `values` from where the walk is; the walk stays there. */
  async *ahead(model: Model, values: readonly string[]): AsyncGenerator<Observation> {
    for await (const { seen } of this.#computed(model, values))
      yield new Map(values.flatMap((name) => entryOf(seen, name)));
  }

  async *#computed(
    model: Model,
    values: readonly string[],
  ): AsyncGenerator<{ readonly seen: Observation; readonly made: Observation }> {
    const missing = values.filter((name) => !this.#keptNames.has(name));
    const open = withInputs(model.graph, this.#keptNames);
    const prefix = await openPrefix({ ...model, graph: open }, missing, this.#options.backend);
    try {
      let index = 0;
      for await (const batch of this.#batches(open, missing)) {
        const kept = this.#kept[index] ?? new Map<string, Observed>();
        this.#kept[index++] = kept;
        const made = await prefix.run({ ...batch, ...tensorsOf(kept) });
        yield { seen: new Map([...made, ...kept]), made };
      }
    } finally {
      await prefix.release();
    }
  }

  /** Inputs of each batch, or nothing once all that is asked for follows from kept values. */
  async *#batches(graph: Graph, missing: readonly string[]): AsyncGenerator<Batch> {
    const reads = needed(graph, missing, this.#keptNames);
    const fresh = graph.inputs.some(({ name }) => reads.has(name) && !this.#keptNames.has(name));
    if (fresh || this.#kept.length === 0) yield* this.#options.calibration.batches();
    else for (const _ of this.#kept) yield {};
  }

  #keep(kept: Map<string, Observed>, name: string, value: Observed): boolean {
    const bytes = value.data.byteLength;
    if (this.#bytes + bytes > this.#options.keptBytes) return false;
    kept.set(name, value);
    this.#bytes += bytes;
    return true;
  }

  /** Drops what no later step is computed from, and what was kept for some batches only. */
  #settle(graph: Graph, complete: ReadonlySet<string>, nextStep: number): void {
    const later = this.#options.steps.slice(nextStep).flat();
    const used = needed(graph, later, complete);
    const names = new Set([...complete].filter((name) => used.has(name)));
    for (const kept of this.#kept) {
      for (const [name, value] of kept) {
        if (names.has(name)) continue;
        kept.delete(name);
        this.#bytes -= value.data.byteLength;
      }
    }
    this.#keptNames = names;
  }
}

/** The most bytes that a walk keeps between two steps for one sample. */
export function walkBytesPerSample(graph: Graph, steps: WalkOptions['steps']): number {
  let most = 0;
  let kept = new Set<string>();
  for (const [step, values] of steps.entries()) {
    const complete = new Set([...kept, ...values]);
    most = Math.max(most, valueBytes(graph, complete));
    const used = needed(graph, steps.slice(step + 1).flat(), complete);
    kept = new Set([...complete].filter((name) => used.has(name)));
  }
  return most;
}

/** Everything `values` are computed from, going no further back than `known`. */
function needed(graph: Graph, values: readonly string[], known: ReadonlySet<string>): ReadonlySet<string> {
  const wanted = new Set(values);
  for (const node of graph.nodes.toReversed()) {
    if (!node.outputs.some((output) => wanted.has(output) && !known.has(output))) continue;
    for (const name of valuesRead(node)) wanted.add(name);
  }
  return wanted;
}

/** The graph that takes `names` as inputs instead of computing them. */
function withInputs(graph: Graph, names: ReadonlySet<string>): Graph {
  return {
    ...graph,
    inputs: [
      ...graph.inputs.filter(({ name }) => !names.has(name)),
      ...[...names].map((name) => ({
        name,
        dataType: 'float32' as const,
        shape:
          graph.values.get(name)?.shape ?? graph.inputs.find((input) => input.name === name)?.shape ?? [],
      })),
    ],
    nodes: graph.nodes.filter((node) => !node.outputs.some((output) => names.has(output))),
  };
}

function tensorsOf(kept: ReadonlyMap<string, Observed>): Batch {
  return Object.fromEntries([...kept].map(([name, { dims, data }]) => [name, float32Tensor(dims, data)]));
}

function entryOf(seen: Observation, name: string): [string, Observed][] {
  const value = seen.get(name);
  return value === undefined ? [] : [[name, value]];
}
