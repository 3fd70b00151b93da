/**
 * Lays the weights out in files: one for each shard with what only some shards need, one with what all need.
 * What a shard needs is read off its own lowering, so the layout follows from the rules and never contradicts them.
 */
import { boxDims, copyBox, type Selections } from '../../graph/boxes.ts';
import type { Graph } from '../../graph/graph.ts';
import { equal, fromIndices, type Ranges, range, union } from '../../graph/ranges.ts';
import { byteCount, dataTypeBytes, elementCount, type Tensor } from '../../graph/tensor.ts';
import { unlistedNames } from '../../protocol/plan.ts';
import type { Program } from '../../runtime/lower/program.ts';
import { flattenRanges } from '../../runtime/plan.ts';

/** Initializers smaller than this stay in the graph file. */
const inlineBytes = 256;

const alignment = 64;

export interface PlacedTensor {
  readonly dataType: Exclude<Tensor['dataType'], 'string'>;
  readonly dims: number[];
  readonly parts: { file: number; offset: number; bytes: number; box: Record<string, number[]> }[];
}

export interface WeightFiles {
  /** Index 0 holds what every shard needs, index 1 + s what shard s alone needs. */
  readonly contents: readonly Uint8Array[];
  readonly tensors: Record<string, PlacedTensor>;
}

export function isInline(name: string, tensor: Tensor): boolean {
  return (
    unlistedNames.has(name) ||
    tensor.dataType === 'string' ||
    tensor.dataType === 'int64' ||
    tensor.data.byteLength < inlineBytes
  );
}

/** The smallest box that holds all that a program reads of a tensor; undefined where it reads nothing. */
function boxOf(program: Program, name: string, dims: readonly number[]): Selections | undefined {
  const parts = [...program.weights.values()].filter(({ source }) => source === name);
  if (parts.length === 0) return undefined;
  const box: Record<number, Ranges> = {};
  for (const [axis, dim] of dims.entries()) {
    const whole = range(0, dim);
    const needed = union(...parts.map(({ selections }) => selections[axis] ?? whole));
    if (!equal(needed, whole)) box[axis] = needed;
  }
  return box;
}

/** A file that is laid out first and filled then, so that its bytes are there once. */
class FileLayout {
  readonly #fills: { readonly offset: number; readonly bytes: number; fill(target: Uint8Array): void }[] = [];
  #length = 0;

  /** Returns the offset of the data in the file; `fill` is given just its bytes, zeroed. */
  append(bytes: number, fill: (target: Uint8Array) => void): number {
    const offset = this.#length + (-this.#length & (alignment - 1));
    this.#fills.push({ offset, bytes, fill });
    this.#length = offset + bytes;
    return offset;
  }

  content(): Uint8Array {
    const content = new Uint8Array(this.#length);
    for (const { offset, bytes, fill } of this.#fills) fill(content.subarray(offset, offset + bytes));
    return content;
  }
}

/** A slab of the tensor that holds all that is in none of the boxes; undefined where they hold everything. */
function leftOver(
  boxes: readonly (Selections | undefined)[],
  dims: readonly number[],
): Selections | undefined {
  const given = boxes.filter((box) => box !== undefined);
  const restricted = new Set(given.flatMap((box) => Object.keys(box).map(Number)));
  // Axes that every box holds whole do not matter.
  const cells = dims.map((dim, axis) => (restricted.has(axis) ? dim : 1));
  const held = new Uint8Array(elementCount(cells));
  for (const box of given) {
    const data = new Uint8Array(elementCount(boxDims(cells, box))).fill(1);
    copyBox(cells, 1, { selections: box, data }, { selections: {}, data: held });
  }
  const [axis = 0] = restricted.size === 0 ? dims.keys() : restricted;
  const below = elementCount(cells.slice(axis + 1));
  const missing = new Set<number>();
  for (const [cell, is] of held.entries())
    if (is === 0) missing.add(Math.floor(cell / below) % (cells[axis] ?? 1));
  if (missing.size === 0) return undefined;
  return restricted.size === 0 ? {} : { [axis]: fromIndices([...missing]) };
}

/**
 * `perShard`: the program of each shard when every shard has a device of its own. `dense`: one device may run the whole graph,
 * with the weights of features too that no other feature needs and no shard makes; the first shard's file has them.
 */
export function layOutWeights(graph: Graph, perShard: readonly Program[], dense: boolean): WeightFiles {
  const files = Array.from({ length: perShard.length + 1 }, () => new FileLayout());
  const tensors: Record<string, PlacedTensor> = {};
  for (const [name, tensor] of graph.initializers) {
    const { dataType, dims } = tensor;
    if (isInline(name, tensor) || dataType === 'string') continue;
    const boxes = perShard.map((program) => boxOf(program, name, dims));
    const everyone = boxes.every((box) => box !== undefined && Object.keys(box).length === 0);
    const wanted: [number, Selections][] = everyone
      ? [[0, {}]]
      : boxes.flatMap((box, shard): [number, Selections][] => (box === undefined ? [] : [[shard + 1, box]]));
    const rest = dense && !everyone ? leftOver(boxes, dims) : undefined;
    if (rest !== undefined) wanted.push([1, rest]);
    const parts = wanted.map(([file, selections]) => {
      const bytes = byteCount(dataType, boxDims(dims, selections));
      const whole = { selections: {}, data: tensor.data };
      const fill = (data: Uint8Array) => copyBox(dims, dataTypeBytes[dataType], whole, { selections, data });
      const offset = files[file]?.append(bytes, fill) ?? 0;
      const box = Object.fromEntries(
        Object.entries(selections).map(([axis, ranges]) => [axis, flattenRanges(ranges)]),
      );
      return { file, offset, bytes, box };
    });
    tensors[name] = { dataType, dims: [...dims], parts };
  }
  return { contents: files.map((file) => file.content()), tensors };
}
