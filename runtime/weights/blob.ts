/**
 * One device's weights in one block of memory: every initializer of its program, assembled from the pieces that
 * lie in the weight files of its shards. The stages' models refer into it by offset.
 */
import { boxDims, copyBox, type Selections } from '../../graph/boxes.ts';
import { byteCount, dataTypeBytes, elementCount } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Program, WeightPart } from '../lower/program.ts';
import { boxOf, type Plan } from '../plan.ts';

/** Weights of the plan's graph whose bytes are in hand: whole, or the boxes that some shards need. */
export interface WeightSource {
  /** Boxes that together hold at least what the device needs of a tensor. */
  boxes(name: string): readonly { readonly selections: Selections; readonly data: Uint8Array }[];
}

export interface WeightBlob {
  readonly data: Uint8Array<ArrayBuffer>;
  /** Name of the program's initializer -> byte offset. */
  readonly offsets: ReadonlyMap<string, number>;
}

/** onnxruntime reads external tensors in place where they are aligned. */
const alignment = 64;

export function buildBlob(program: Program, plan: Plan['model'], source: WeightSource): WeightBlob {
  const offsets = new Map<string, number>();
  let length = 0;
  for (const [name, part] of program.weights) {
    offsets.set(name, length);
    length += Math.ceil(byteCount(part.dataType, part.dims) / alignment) * alignment;
  }
  const data = new Uint8Array(length);
  for (const [name, part] of program.weights) {
    const offset = offsets.get(name) ?? 0;
    const bytes = byteCount(part.dataType, part.dims);
    fill(part, plan, source, data.subarray(offset, offset + bytes));
  }
  return { data, offsets };
}

function fill(part: WeightPart, model: Plan['model'], source: WeightSource, data: Uint8Array): void {
  const dims = model.graph.initializers.get(part.source)?.dims ?? [];
  const target = { selections: part.selections, data };
  const count = elementCount(boxDims(dims, part.selections));
  // Boxes of different shards may overlap: an element counts once, whoever gives it.
  const covered = new Uint8Array(count);
  let missing = count;
  for (const box of source.boxes(part.source)) {
    if (missing === 0) break;
    const copied = copyBox(dims, dataTypeBytes[part.dataType], box, target);
    if (copied === count) return;
    const ones = new Uint8Array(elementCount(boxDims(dims, box.selections))).fill(1);
    copyBox(
      dims,
      1,
      { selections: box.selections, data: ones },
      { selections: part.selections, data: covered },
    );
    missing = covered.reduce((sum, one) => sum - one, count);
  }
  if (missing === 0) return;
  throw new StarlingError(
    'PLAN_UNREADABLE',
    `The plan's weight files lack ${missing} elements of "${part.source}" for this device; compile the model again.`,
  );
}

/** The weights a whole model has in memory, as compiling and verifying see them. */
export function wholeWeights(model: Plan['model']): WeightSource {
  return {
    boxes(name) {
      const tensor = model.graph.initializers.get(name);
      return tensor === undefined ? [] : [{ selections: {}, data: tensor.data }];
    },
  };
}

/** Weights from a plan's files; `files[i]` is null where a device did not fetch the file. */
export function fileWeights(plan: Plan, files: readonly (Uint8Array | null)[]): WeightSource {
  return {
    boxes(name) {
      const tensor = plan.file.tensors[name];
      if (tensor === undefined) return wholeWeights(plan.model).boxes(name);
      return tensor.parts.flatMap(({ file, offset, bytes, box }) => {
        const content = files[file];
        if (content == null) return [];
        return [{ selections: boxOf(box), data: content.subarray(offset, offset + bytes) }];
      });
    },
  };
}
