/** Windows that slide, and lengths that change: convolutions, pooling, resizing. */
import { float32Tensor, int64Tensor } from '../../../graph/tensor.ts';
import {
  between,
  dims,
  distinct,
  floats,
  int,
  ints,
  type MakeCase,
  pick,
  type Random,
  string,
} from './randomValues.ts';

export const windowCases = {
  AveragePool: (opType, random) => {
    const { kernel, strides } = sliding(random, 2, false);
    const pads = kernel.map((k) => between(random, 0, k - 1));
    const tiled = random() < 0.3;
    const includes = between(random, 0, 1);
    return {
      opType,
      attributes: {
        kernel_shape: ints(...kernel),
        strides: ints(...(tiled ? kernel : strides)),
        pads: tiled ? ints(0, 0, 0, 0) : ints(...pads, ...pads),
        count_include_pad: int(includes),
        ceil_mode: int(includes === 0 && !tiled ? ceilMode(random, kernel, strides, pads) : 0),
      },
      inputs: [
        floats(random, tiled ? [2, 2, ...kernel.map((k) => 2 * k)] : [2, 2, ...dims(random, 2, 4, 6)]),
      ],
    };
  },
  Conv: (opType, random) => {
    const space = between(random, 1, 2);
    const { kernel, strides, dilations } = sliding(random, space);
    const group = pick(random, 1, 1, 2, 3);
    const [perIn, perOut] = [between(random, 1, 3), between(random, 1, 2)];
    // More padding than the kernel reaches is allowed too.
    const pads = [...kernel, ...kernel].map((k) => between(random, 0, k));
    return {
      opType,
      attributes: {
        strides: ints(...strides),
        dilations: ints(...dilations),
        group: int(group),
        ...(random() < 0.2 && dilations.every((d) => d === 1)
          ? { auto_pad: string(pick(random, 'SAME_UPPER', 'SAME_LOWER', 'VALID')) }
          : { pads: ints(...pads) }),
      },
      inputs: [
        floats(random, [2, group * perIn, ...dims(random, space, 5, 7)]),
        floats(random, [group * perOut, perIn, ...kernel]),
        ...(random() < 0.5 ? [floats(random, [group * perOut])] : []),
      ],
    };
  },
  ConvTranspose: (opType, random) => {
    const { kernel, strides, dilations } = sliding(random, 2);
    const group = pick(random, 1, 2);
    const [perIn, perOut] = [between(random, 1, 2), between(random, 1, 2)];
    return {
      opType,
      attributes: {
        strides: ints(...strides),
        dilations: ints(...dilations),
        group: int(group),
        pads: ints(...[...kernel, ...kernel].map((k) => between(random, 0, k - 1))),
        output_padding: ints(...strides.map((s) => between(random, 0, s - 1))),
      },
      inputs: [
        floats(random, [2, group * perIn, ...dims(random, 2, 3, 4)]),
        floats(random, [group * perIn, perOut, ...kernel]),
        ...(random() < 0.5 ? [floats(random, [group * perOut])] : []),
      ],
    };
  },
  GlobalAveragePool: (opType, random) => ({ opType, inputs: [floats(random, dims(random, 4))] }),
  MaxPool: (opType, random) => {
    const { kernel, strides, dilations } = sliding(random, 2);
    const pads = kernel.map((k) => between(random, 0, Math.floor(k / 2)));
    return {
      opType,
      attributes: {
        kernel_shape: ints(...kernel),
        strides: ints(...strides),
        dilations: ints(...dilations),
        pads: ints(...pads, ...pads),
        ceil_mode: int(ceilMode(random, kernel, strides, pads)),
      },
      inputs: [distinct(random, [2, 2, ...dims(random, 2, 5, 6)])],
    };
  },
  Resize: (opType, random) => {
    const shape = [1, 2, ...dims(random, 2, 2, 4)];
    const mode = pick(random, 'nearest', 'linear');
    const coordinates = pick(random, 'half_pixel', 'asymmetric', 'align_corners', 'pytorch_half_pixel');
    const sizes = random() < 0.5;
    const to = shape.map((length, axis) => (axis < 2 ? length : between(random, 1, 2 * length)));
    return {
      opType,
      attributes: {
        mode: string(mode),
        coordinate_transformation_mode: string(coordinates),
        nearest_mode: string(pick(random, 'floor', 'ceil', 'round_prefer_floor', 'round_prefer_ceil')),
      },
      inputs: [
        floats(random, shape),
        null,
        sizes ? null : float32Tensor([4], [1, 1, pick(random, 1, 2, 3), pick(random, 1.5, 2)]),
        ...(sizes ? [int64Tensor(to)] : []),
      ],
      settings: [2, 3],
    };
  },
} satisfies Readonly<Record<string, MakeCase>>;

function sliding(random: Random, space: number, dilated = true) {
  const kernel = dims(random, space, 1, 3);
  const strides = dims(random, space, 1, 2);
  const dilations = dilated ? dims(random, space, 1, 2) : kernel.map(() => 1);
  return { kernel, strides, dilations };
}

/** Where a window may begin in the padding, ONNX's shape inference and onnxruntime count positions differently. */
function ceilMode(random: Random, kernel: number[], strides: number[], pads: number[]): number {
  const agreed = kernel.every((k, axis) => k >= (strides[axis] ?? 1) && pads[axis] === 0);
  return agreed ? between(random, 0, 1) : 0;
}
