/**
 * Pools of forms that opset 17 lacks (AveragePool with dilations, LpPool with dilations or rounding up) as what they are: sums
 * under windows, that is a convolution of every channel by itself with weights that are all alike. And dilated MaxPool that
 * pads by itself, about which onnxruntime does not agree with its own shapes.
 */
import { averagePoolAttributes, lpPoolAttributes, windowAttributes } from '../../attributes/windows.ts';
import { type Node, withAttributes } from '../../graph.ts';
import { elementCount, float32Tensor } from '../../tensor.ts';
import { type Expansion, expansion } from './expansion.ts';
import { firstOutput, type LiftContext, type LiftStep, refuse } from './liftRule.ts';

/** One spatial axis of a pool. */
interface PoolAxis {
  readonly kernel: number;
  readonly dilation: number;
  readonly stride: number;
  readonly padBegin: number;
  /** As the node gives it, and as a convolution needs it for the same number of windows. */
  readonly padEnd: number;
  readonly padded: number;
  readonly input: number;
  readonly output: number;
}

function axesOf(node: Node, context: LiftContext): readonly PoolAxis[] {
  const [input, output] = [context.shape(node.inputs[0] ?? ''), context.shape(firstOutput(node))];
  if (input === undefined || output === undefined) refuse(node, context, 'its shapes are unknown');
  const rank = input.length - 2;
  const { autoPad, dilations, kernelShape = [], pads, strides } = windowAttributes(node, rank);
  return Array.from({ length: rank }, (_, i): PoolAxis => {
    const [kernel, dilation, stride] = [kernelShape[i] ?? 1, dilations[i] ?? 1, strides[i] ?? 1];
    const lengths = { input: input[i + 2] ?? 1, output: output[i + 2] ?? 1 };
    const reach = (lengths.output - 1) * stride + (kernel - 1) * dilation + 1;
    // onnxruntime pads for as many windows as if there were no dilations; then fewer fit.
    const target = Math.ceil(lengths.input / stride);
    const total = Math.max(0, (target - 1) * stride + kernel - lengths.input);
    const half = autoPad === 'SAME_LOWER' ? Math.ceil(total / 2) : Math.floor(total / 2);
    const same = autoPad.startsWith('SAME');
    const padBegin = same ? half : (pads[i] ?? 0);
    const padEnd = same ? total - half : (pads[i + rank] ?? 0);
    const padded = Math.max(padEnd, reach - lengths.input - padBegin);
    return { kernel, dilation, stride, padBegin, padEnd, padded, ...lengths };
  });
}

/** The sums under the windows of `value`, each weight `factor`. */
function windowSums(
  { add, constant }: Expansion,
  value: string,
  channels: number,
  axes: readonly PoolAxis[],
  factor = 1,
): string {
  const dims = [channels, 1, ...axes.map(({ kernel }) => kernel)];
  const weights = constant(float32Tensor(dims, new Float32Array(elementCount(dims)).fill(factor)), 'weights');
  const list = (of: (axis: PoolAxis) => number) => ({ type: 'ints', value: axes.map(of) }) as const;
  const pads = [...axes.map(({ padBegin }) => padBegin), ...axes.map(({ padded }) => padded)];
  return add('Conv', [value, weights], {
    dilations: list(({ dilation }) => dilation),
    group: { type: 'int', value: channels },
    kernel_shape: list(({ kernel }) => kernel),
    pads: { type: 'ints', value: pads },
    strides: list(({ stride }) => stride),
  });
}

/** How many elements each window along the axis has: those of the input, or also those of the padding that is asked for. */
function counts({ kernel, dilation, stride, padBegin, padEnd, input, output }: PoolAxis, padding: boolean) {
  const end = padding ? input + padEnd : input;
  return Array.from({ length: output }, (_, window) => {
    const first = window * stride - padBegin;
    const taps = Array.from({ length: kernel }, (__, tap) => first + tap * dilation);
    return taps.filter((at) => (padding || at >= 0) && at < end).length;
  });
}

/** 1 / number of elements for every window, [1, 1, ...output]. */
function shares(axes: readonly PoolAxis[], padding: boolean): Float32Array {
  const numbers = axes.reduce<readonly number[]>(
    (all, axis) => all.flatMap((one) => counts(axis, padding).map((count) => one * count)),
    [1],
  );
  return Float32Array.from(numbers, (count) => 1 / Math.max(1, count));
}

/** MaxPool (opset 10): dilations with auto_pad. */
export const maxPoolPadded: LiftStep = {
  from: 10,
  lift: (node, context) => {
    const { autoPad } = windowAttributes(node, 0);
    if (!autoPad.startsWith('SAME') || isUndilated(node)) return [node];
    const axes = axesOf(node, context);
    const pads = [...axes.map(({ padBegin }) => padBegin), ...axes.map(({ padEnd }) => padEnd)];
    const attributes = withAttributes(node, { auto_pad: null, pads: { type: 'ints', value: pads } });
    return [{ ...node, attributes }];
  },
};

const isUndilated = (node: Node): boolean => windowAttributes(node, 0).dilations.every((one) => one === 1);

/** AveragePool (opset 19): dilations. */
export const averagePoolDilated: LiftStep = {
  from: 19,
  lift: (node, context) => {
    if (isUndilated(node)) return [{ ...node, attributes: withAttributes(node, { dilations: null }) }];
    const spelt = expansion(node, context);
    const axes = axesOf(node, context);
    const { countIncludePad } = averagePoolAttributes(node, axes.length);
    const channels = context.shape(spelt.input)?.[1] ?? 1;
    const all = shares(axes, countIncludePad);
    const [first = 1] = all;
    if (all.every((share) => share === first)) windowSums(spelt, spelt.input, channels, axes, first);
    else {
      const dims = [1, 1, ...axes.map(({ output }) => output)];
      const sums = windowSums(spelt, spelt.input, channels, axes);
      spelt.add('Mul', [sums, spelt.constant(float32Tensor(dims, all), 'shares')]);
    }
    return spelt.finish();
  },
};

/** LpPool (opset 18): dilations and ceil_mode. */
export const lpPoolPlain: LiftStep = {
  from: 18,
  lift: (node, context) => {
    const { ceilMode, p } = lpPoolAttributes(node, 0);
    if (isUndilated(node) && !ceilMode)
      return [{ ...node, attributes: withAttributes(node, { dilations: null, ceil_mode: null }) }];
    const spelt = expansion(node, context);
    const { input, add, scalar } = spelt;
    const channels = context.shape(input)?.[1] ?? 1;
    const magnitude = add('Abs', [input]);
    const powers = p === 1 ? magnitude : add('Pow', [magnitude, scalar(p, 'p')]);
    const sums = windowSums(spelt, powers, channels, axesOf(node, context));
    if (p !== 1) add('Pow', [sums, scalar(1 / p, 'root')]);
    return spelt.finish();
  },
};
