/**
 * Predicts how far the wasm heap of a device grows while it loads a program and runs it: plays the allocations in the
 * executor's order on a heap that grows as emscripten's does and never shrinks. Not time; not the page's own memory.
 */
import type { Node } from '../../graph/graph.ts';
import { valuesRead } from '../../graph/sort.ts';
import { byteCount, elementCount, tensorBytes } from '../../graph/tensor.ts';
import { countReaders } from '../executorRun.ts';
import type { Program, Stage } from '../lower/program.ts';

/** What the engine itself takes, in bytes; measured (see `npm run bench:memory`). */
export interface MemoryCost {
  /** Size of a heap in which nothing has been created yet. */
  readonly heapBytes: number;
  /** Of that, what code and data of the engine occupy. */
  readonly usedBytes: number;
  /** Of each session and each node in it. */
  readonly sessionBytes: number;
  readonly nodeBytes: number;
  /** What lies between blocks of a heap that is taken and given back: of weights, times their bytes. */
  readonly weightFactor: number;
  /** The same of activations, where several stages take turns; one session plans its own memory without gaps. */
  readonly stagedFactor: number;
}

const mebi = 1024 * 1024;
/** WebAssembly memory grows by whole ones. */
const pageBytes = 64 * 1024;

/** onnxruntime-web 1.30, its wasm build with threads. */
const ortWebMemory: MemoryCost = {
  heapBytes: 16 * mebi,
  usedBytes: 11 * mebi,
  sessionBytes: 30 * 1024,
  nodeBytes: 2 * 1024,
  weightFactor: 1.05,
  stagedFactor: 1.1,
};

/** The parts of a device's peak, in bytes of its heap. */
export interface PeakBytes {
  readonly weightBytes: number;
  /** The most that tensors of one run take at once. */
  readonly activationBytes: number;
  /** The heap's size after loading and running: what a limit is compared with. */
  readonly heapBytes: number;
}

/**
 * Emscripten's growth: a fifth more than before, or what is asked for where that is larger, in whole pages. Heaps begin
 * at one size, so the sizes that they pass through are always the same.
 */
class Heap {
  readonly #share: number;
  #size: number;
  #used: number;

  /** `share` of what is taken counts. */
  constructor({ heapBytes, usedBytes }: MemoryCost, share: number) {
    this.#share = share;
    this.#size = heapBytes;
    this.#used = usedBytes;
  }

  get size(): number {
    return this.#size;
  }

  take(bytes: number): void {
    this.#used += bytes;
    const needed = this.#used * this.#share;
    if (needed <= this.#size) return;
    const grown = Math.min(this.#size * 1.2, needed + 96 * mebi);
    this.#size = Math.ceil(Math.max(needed, grown) / pageBytes) * pageBytes;
  }

  give(bytes: number): void {
    this.#used -= bytes;
  }
}

/** Operators whose output may take the place of an input that nobody reads any more. */
const inPlace = new Set([
  'Relu', 'LeakyRelu', 'Sigmoid', 'Tanh', 'Clip', 'Elu', 'HardSigmoid', 'HardSwish', 'Erf', 'Sqrt', 'Exp', 'Abs', 'Neg',
  'Add', 'Sub', 'Mul', 'Div', 'Sum', 'Max', 'Min', 'PRelu', 'BatchNormalization',
  'Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Identity', 'Dropout',
]); // biome-ignore format: a list

class Play {
  readonly #program: Program;
  readonly #heap: Heap;
  readonly #factor: number;
  readonly #left: Map<string, number>;
  live = 0;
  most = 0;

  constructor(program: Program, heap: Heap, factor: number) {
    this.#program = program;
    this.#heap = heap;
    this.#factor = factor;
    this.#left = new Map(countReaders(program));
  }

  bytesOf(name: string): number {
    const { dataType = 'float32', dims } = this.#program.types.get(name) ?? {};
    return dims === undefined ? 0 : tensorBytes({ dataType, dims });
  }

  arrive(names: readonly string[]): void {
    for (const name of names) this.#take(this.bytesOf(name));
  }

  run(stage: Stage): void {
    const kept = new Set([...stage.inputs, ...stage.outputs]);
    const uses = new Map<string, number>();
    for (const node of stage.nodes)
      for (const name of valuesRead(node)) uses.set(name, (uses.get(name) ?? 0) + 1);
    const held = new Map<string, number>();
    for (const node of stage.nodes) this.#runNode(node, { kept, uses, held });
    for (const bytes of held.values()) this.#give(bytes);
    for (const name of stage.outputs) this.#leave(name, (this.#left.get(name) ?? 0) - this.#sendsOf(name));
    for (const name of stage.inputs) this.#leave(name, (this.#left.get(name) ?? 1) - 1);
  }

  #runNode(
    node: Node,
    { kept, uses, held }: { kept: ReadonlySet<string>; uses: Map<string, number>; held: Map<string, number> },
  ): void {
    const reads = valuesRead(node);
    for (const name of reads) uses.set(name, (uses.get(name) ?? 1) - 1);
    const dying = reads.filter((name) => !kept.has(name) && uses.get(name) === 0 && held.has(name));
    for (const name of node.outputs) {
      const bytes = this.bytesOf(name);
      const reused =
        inPlace.has(node.opType) && !kept.has(name) ? dying.findIndex((one) => held.get(one) === bytes) : -1;
      if (reused >= 0) {
        const [old = ''] = dying.splice(reused, 1);
        held.delete(old);
      } else this.#take(bytes);
      if (!kept.has(name)) held.set(name, bytes);
    }
    this.#scratch(node);
    for (const name of dying) {
      this.#give(held.get(name) ?? 0);
      held.delete(name);
    }
  }

  /** onnxruntime's ConvTranspose makes every product before it adds them: [outputs x kernel, height x width]. */
  #scratch(node: Node): void {
    if (node.opType !== 'ConvTranspose') return;
    const dimsOf = (i: number) => this.#program.types.get(node.inputs[i] ?? '')?.dims ?? [];
    const bytes = 4 * elementCount(dimsOf(0).slice(2)) * elementCount(dimsOf(1).slice(1));
    this.#take(bytes);
    this.#give(bytes);
  }

  /** Sends and results leave as soon as they are made. */
  #sendsOf(name: string): number {
    const { sends, results } = this.#program;
    return (
      sends.filter(({ sourceName }) => sourceName === name).length +
      results.filter((one) => one.name === name).length
    );
  }

  #leave(name: string, left: number): void {
    this.#left.set(name, left);
    if (left <= 0) this.#give(this.bytesOf(name));
  }

  #take(bytes: number): void {
    this.#heap.take(bytes * this.#factor);
    this.live += bytes;
    this.most = Math.max(this.most, this.live);
  }

  #give(bytes: number): void {
    this.#heap.give(bytes * this.#factor);
    this.live -= bytes;
  }
}

/**
 * On which side of a step a need falls that comes near it is luck: the mean of what a little less and a little more than
 * is expected would take.
 */
const needs = [0.94, 1.06];

export function predictPeak(program: Program, cost: MemoryCost = ortWebMemory): PeakBytes {
  const peaks = needs.map((share) => peakOf(program, cost, share));
  const heapBytes = Math.round(peaks.reduce((sum, peak) => sum + peak.heapBytes, 0) / peaks.length);
  return { weightBytes: 0, activationBytes: 0, ...peaks[0], heapBytes };
}

/** `share` of what is expected to be needed. */
function peakOf(program: Program, cost: MemoryCost, share: number): PeakBytes {
  const heap = new Heap(cost, share);
  let weightBytes = 0;
  for (const stage of program.stages) {
    heap.take(cost.sessionBytes + cost.nodeBytes * stage.nodes.length);
    // Every session has its own copy of what its nodes read.
    for (const name of new Set(stage.nodes.flatMap(valuesRead))) {
      const weight = program.weights.get(name);
      if (weight === undefined) continue;
      const bytes = byteCount(weight.dataType, weight.dims);
      heap.take(bytes * cost.weightFactor);
      weightBytes += bytes;
    }
  }
  const play = new Play(program, heap, program.stages.length > 1 ? cost.stagedFactor : 1);
  play.arrive(program.feeds.map(({ name }) => name));
  for (const stage of program.stages) {
    const waits = program.receives.filter(({ targetName }) => stage.inputs.includes(targetName));
    play.arrive(waits.map(({ targetName }) => targetName));
    play.run(stage);
  }
  return { weightBytes, activationBytes: play.most, heapBytes: heap.size };
}
