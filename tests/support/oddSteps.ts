/** Layers in forms that opset 17 does not have, or that exporters take apart; for random networks of opset 19 and later. */
import type { GraphWriter, Step } from './graphWriter.ts';
import { float, int, ints, text } from './operatorCase.ts';
import { outputLength } from './randomSteps.ts';

/** Over channels, the variance added to a little. */
const layerNormalization: Step = (writer, input) => {
  const shape = writer.shape(input);
  const [, channels = 1] = shape;
  const kept = shape.map((length, axis) => (axis === 1 ? 1 : length));
  const over = writer.integers([1]);
  const mean = writer.node('ReduceMean', [input, over], kept);
  const deviation = writer.node('Sub', [input, mean], shape);
  const squares =
    writer.pick(2) === 0
      ? writer.node('Mul', [deviation, deviation], shape)
      : writer.node('Pow', [deviation, writer.scalar(2)], shape);
  const variance = writer.node('ReduceMean', [squares, over], kept);
  const root = writer.node('Sqrt', [writer.node('Add', [variance, writer.scalar(0.05)], kept)], kept);
  const normal = writer.node('Div', [deviation, root], shape);
  const scaled = writer.node('Mul', [normal, writer.weight([channels, 1, 1], 1)], shape);
  return writer.node('Add', [scaled, writer.weight([channels, 1, 1], 1)], shape);
};

const transposed: Step = (writer, input) => {
  const [n = 1, c = 1, h = 1, w = 1] = writer.shape(input);
  const last = writer.node('Transpose', [input], [n, h, w, c], { perm: ints(0, 2, 3, 1) });
  const normal = writer.node(
    'LayerNormalization',
    [last, writer.weight([c], 1), writer.weight([c], 1)],
    [n, h, w, c],
    { epsilon: float(0.05) },
  );
  return writer.node('Transpose', [normal], [n, c, h, w], { perm: ints(0, 3, 1, 2) });
};

const rootMeanSquare: Step = (writer, input) => {
  const shape = writer.shape(input);
  const kept = shape.map((length, axis) => (axis === 1 ? 1 : length));
  const squares = writer.node('Pow', [input, writer.scalar(2)], shape);
  const mean = writer.node('ReduceMean', [squares, writer.integers([1])], kept);
  const root = writer.node('Sqrt', [writer.node('Add', [mean, writer.scalar(0.05)], kept)], kept);
  return writer.node('Mul', [input, writer.node('Reciprocal', [root], kept)], shape);
};

const dilatedPool: Step = (writer, input) => {
  const [n = 1, channels = 1, height = 1, width = 1] = writer.shape(input);
  const [kernel, stride, pad] = [2 + writer.pick(2), 1 + writer.pick(2), writer.pick(2)];
  const spatial = [height, width].map((length) => outputLength(length, kernel, stride, 2, 2 * pad));
  if (spatial.some((length) => length < 1)) return undefined;
  const power = writer.pick(2) === 0;
  return writer.node(power ? 'LpPool' : 'AveragePool', [input], [n, channels, ...spatial], {
    kernel_shape: ints(kernel, kernel),
    strides: ints(stride, stride),
    dilations: ints(2, 2),
    pads: ints(pad, pad, pad, pad),
    ...(power ? {} : { count_include_pad: int(writer.pick(2)) }),
  });
};

const antialiased: Step = (writer, input) => {
  const [n = 1, channels = 1, ...spatial] = writer.shape(input);
  const sizes = spatial.map((length) => 1 + writer.pick(length + 3));
  return writer.node(
    'Resize',
    [input, '', '', writer.integers([n, channels, ...sizes])],
    [n, channels, ...sizes],
    {
      mode: text(writer.pick(2) === 0 ? 'linear' : 'cubic'),
      antialias: int(1),
      exclude_outside: int(writer.pick(2)),
    },
  );
};

const wrapping: Step = (writer, input) => {
  const [n = 1, channels = 1, height = 1, width = 1] = writer.shape(input);
  const around = [0, 0, height, width].map((length) => writer.pick(Math.min(length, 3) + 1));
  const after = [0, 0, height, width].map((length) => writer.pick(Math.min(length, 3) + 1));
  const pads = [0, 0, around[2] ?? 0, around[3] ?? 0, 0, 0, after[2] ?? 0, after[3] ?? 0];
  const shape = [n, channels, height, width].map(
    (length, axis) => length + (pads[axis] ?? 0) + (pads[axis + 4] ?? 0),
  );
  return writer.node('Pad', [input, writer.integers(pads)], shape, { mode: text('wrap') });
};

/** The parts of what is split, in another order. */
const shuffled: Step = (writer: GraphWriter, input) => {
  const [n = 1, channels = 1, ...spatial] = writer.shape(input);
  if (channels < 2) return undefined;
  const first = 1 + writer.pick(channels - 1);
  const lengths = [first, channels - first];
  const slices = lengths.map((length, i) =>
    writer.node(
      'Slice',
      [input, ...[i * first, i * first + length, 1].map((value) => writer.integers([value]))],
      [n, length, ...spatial],
    ),
  );
  return writer.node('Concat', slices.reverse(), [n, channels, ...spatial], { axis: int(1) });
};

export const oddSteps: readonly Step[] = [
  layerNormalization,
  transposed,
  rootMeanSquare,
  dilatedPool,
  antialiased,
  wrapping,
  shuffled,
];
