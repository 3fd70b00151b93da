/** Layers of random networks: convolutions, pools, and what lies between them. */
import type { Step } from './graphWriter.ts';
import { int, ints } from './operatorCase.ts';

export function outputLength(
  length: number,
  kernel: number,
  stride: number,
  dilation: number,
  pads: number,
): number {
  return Math.floor((length + pads - (kernel - 1) * dilation - 1) / stride) + 1;
}

const convolution: Step = (writer, input) => {
  const [n = 1, channels = 1, height = 1, width = 1] = writer.shape(input);
  const kernel = 1 + 2 * writer.pick(2);
  const stride = 1 + writer.pick(2);
  const dilation = 1 + writer.pick(2);
  const begin = writer.pick(kernel);
  const end = writer.pick(kernel);
  const kind = writer.pick(3);
  const group = kind === 0 ? 1 : kind === 1 ? channels : channels % 2 === 0 ? 2 : 1;
  const outputs = group * (group === 1 ? 1 + writer.pick(9) : 1 + writer.pick(3));
  const spatial = [height, width].map((length) =>
    outputLength(length, kernel, stride, dilation, begin + end),
  );
  if (spatial.some((length) => length < 1) || outputs > 24) return undefined;
  const inner = channels / group;
  const inputs = [
    input,
    writer.weight([outputs, inner, kernel, kernel], 1 / Math.sqrt(inner * kernel * kernel)),
  ];
  if (writer.pick(2) === 0) inputs.push(writer.weight([outputs], 0.1));
  return writer.node('Conv', inputs, [n, outputs, ...spatial], {
    strides: ints(stride, stride),
    dilations: ints(dilation, dilation),
    pads: ints(begin, begin, end, end),
    group: int(group),
  });
};

export const unary: Step = (writer, input) => {
  const operators = ['Relu', 'Sigmoid', 'LeakyRelu', 'HardSwish', 'Tanh', 'Abs', 'Neg'];
  return writer.node(operators[writer.pick(operators.length)] ?? 'Relu', [input], writer.shape(input));
};

const channelConstant: Step = (writer, input) => {
  const channels = writer.shape(input)[1] ?? 1;
  const operators = ['Mul', 'Add', 'PRelu', 'Sub'];
  const constant = writer.weight(writer.pick(2) === 0 ? [channels, 1, 1] : [1], 1);
  return writer.node(
    operators[writer.pick(operators.length)] ?? 'Mul',
    [input, constant],
    writer.shape(input),
  );
};

const pooling: Step = (writer, input) => {
  const [n = 1, channels = 1, height = 1, width = 1] = writer.shape(input);
  const kernel = 2 + writer.pick(2);
  const stride = 1 + writer.pick(2);
  const pad = writer.pick(2);
  const spatial = [height, width].map((length) => outputLength(length, kernel, stride, 1, 2 * pad));
  if (spatial.some((length) => length < 1)) return undefined;
  const average = writer.pick(2) === 0;
  return writer.node(average ? 'AveragePool' : 'MaxPool', [input], [n, channels, ...spatial], {
    kernel_shape: ints(kernel, kernel),
    strides: ints(stride, stride),
    pads: ints(pad, pad, pad, pad),
    ...(average ? { count_include_pad: int(writer.pick(2)) } : {}),
  });
};

/** Joins with an earlier value of the same shape, as residual connections do. */
const residual: Step = (writer, input) => {
  const shape = writer.shape(input).join();
  const others = [...writer.shapes].filter(([name, other]) => name !== input && other.join() === shape);
  const other = others[writer.pick(others.length)]?.[0];
  return other === undefined ? undefined : writer.node('Add', [input, other], writer.shape(input));
};

const concatenation: Step = (writer, input) => {
  const [n = 1, channels = 1, ...spatial] = writer.shape(input);
  const others = [...writer.shapes].filter(
    ([, [, , ...rest]]) => rest.length === 2 && rest.join() === spatial.join(),
  );
  const [other, shape] = others[writer.pick(others.length)] ?? [];
  if (other === undefined || channels + (shape?.[1] ?? 0) > 24) return undefined;
  return writer.node('Concat', [input, other], [n, channels + (shape?.[1] ?? 0), ...spatial], {
    axis: int(1),
  });
};

const channelSlice: Step = (writer, input) => {
  const [n = 1, channels = 1, ...spatial] = writer.shape(input);
  if (channels < 3) return undefined;
  const start = writer.pick(channels - 1);
  const end = start + 1 + writer.pick(channels - start);
  const step = 1 + writer.pick(2);
  const limits = [[start], [end], [1], [step]].map((values) => writer.integers(values));
  return writer.node(
    'Slice',
    [input, ...limits],
    [n, Math.ceil((Math.min(end, channels) - start) / step), ...spatial],
  );
};

const channelPad: Step = (writer, input) => {
  const [n = 1, channels = 1, ...spatial] = writer.shape(input);
  const begin = writer.pick(5);
  const end = writer.pick(5);
  const pads = writer.integers([0, begin, 0, 0, 0, end, 0, 0]);
  return writer.node('Pad', [input, pads], [n, channels + begin + end, ...spatial]);
};

export const steps: readonly Step[] = [
  convolution, convolution, convolution, unary, unary, channelConstant, pooling, residual, residual, concatenation,
  channelSlice, channelPad,
]; // biome-ignore format: weights by repetition
