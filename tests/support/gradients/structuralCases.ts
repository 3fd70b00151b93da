/** Operators that move values and compute none. */
import type { Attribute } from '../../../graph/graph.ts';
import { elementCount, float32Tensor, int64Tensor, type Tensor } from '../../../graph/tensor.ts';
import {
  between,
  broadcasting,
  dims,
  floats,
  int,
  ints,
  type MakeCase,
  pick,
  string,
} from './randomValues.ts';

export const structuralCases = {
  Concat: (opType, random) => {
    const shape = dims(random, between(random, 1, 4));
    const axis = between(random, 0, shape.length - 1);
    const part = (): Tensor => {
      return floats(
        random,
        shape.map((length, i) => (i === axis ? between(random, 1, 3) : length)),
      );
    };
    return {
      opType,
      attributes: { axis: int(random() < 0.5 ? axis : axis - shape.length) },
      inputs: [part(), part(), part()],
    };
  },
  DepthToSpace: (opType, random) => ({
    opType,
    attributes: { blocksize: int(2), mode: string(pick(random, 'DCR', 'CRD')) },
    inputs: [floats(random, [2, 4 * between(random, 1, 2), ...dims(random, 2)])],
  }),
  Expand: (opType, random) => {
    const [a, b] = broadcasting(random);
    return { opType, inputs: [floats(random, a), int64Tensor(b)], settings: [1] };
  },
  Flatten: (opType, random) => ({
    opType,
    attributes: { axis: int(between(random, 0, 3)) },
    inputs: [floats(random, dims(random, 3))],
  }),
  Gather: (opType, random) => {
    const shape = dims(random, between(random, 1, 3), 2, 4);
    const axis = between(random, 0, shape.length - 1);
    const indexShape = dims(random, between(random, 0, 2), 1, 3);
    const length = shape[axis] ?? 1;
    const indices = Array.from({ length: elementCount(indexShape) }, () =>
      between(random, -length, length - 1),
    );
    return {
      opType,
      attributes: { axis: int(axis) },
      inputs: [floats(random, shape), int64Tensor(indices, indexShape)],
      settings: [1],
    };
  },
  Pad: (opType, random) => {
    const shape = dims(random, between(random, 1, 3), 3, 4);
    const pads = [...shape, ...shape].map(() => between(random, -1, 2));
    return {
      opType,
      attributes: { mode: string('constant') },
      inputs: [floats(random, shape), int64Tensor(pads), float32Tensor([], [0.5])],
      settings: [2],
    };
  },
  Reshape: (opType, random) => {
    const shape = dims(random, 3);
    return { opType, inputs: [floats(random, shape), int64Tensor([-1, shape[2] ?? 1])] };
  },
  Slice: (opType, random) => {
    const shape = dims(random, 3, 3, 6);
    const axes = pick(random, [0, 1, 2], [2], [-1, 0]);
    const steps = axes.map(() => pick(random, 1, 2, 3, -1, -2));
    const bounds = axes.map((axis, i) => {
      const length = shape.at(axis) ?? 1;
      const low = between(random, 0, 1);
      if ((steps[i] ?? 1) < 0) return [pick(random, length - 1, -1, 100), low === 0 ? -1000 : low - 1];
      return [pick(random, low, low - length), pick(random, length, 1000, -1)];
    });
    return {
      opType,
      inputs: [
        floats(random, shape),
        int64Tensor(bounds.map(([start]) => start ?? 0)),
        int64Tensor(bounds.map(([, end]) => end ?? 0)),
        int64Tensor(axes),
        int64Tensor(steps),
      ],
    };
  },
  Squeeze: (opType, random) => {
    const shape = dims(random, 2);
    return {
      opType,
      inputs: [floats(random, [1, ...shape, 1]), ...(random() < 0.5 ? [int64Tensor([0])] : [])],
    };
  },
  Transpose: (opType, random) => ({
    opType,
    attributes: pick<Record<string, Attribute>>(random, {}, { perm: ints(1, 2, 0) }, { perm: ints(0, 2, 1) }),
    inputs: [floats(random, dims(random, 3))],
  }),
  Unsqueeze: (opType, random) => ({
    opType,
    inputs: [floats(random, dims(random, 2)), int64Tensor(pick(random, [0], [-1], [1, 3]))],
  }),
} satisfies Readonly<Record<string, MakeCase>>;
