/** Random small networks with concrete shapes; divisions of them are in randomDivision.ts. */
import type { Attribute, Graph, Model, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32View, int64Tensor, type Tensor } from '../../graph/tensor.ts';

type Shape = readonly number[];

const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
const int = (value: number): Attribute => ({ type: 'int', value });
const float = (value: number): Attribute => ({ type: 'float', value });

/** Grows a graph node by node; every value's shape is known. */
class GraphWriter {
  readonly nodes: Node[] = [];
  readonly initializers = new Map<string, Tensor>();
  readonly shapes = new Map<string, Shape>();
  readonly random: () => number;

  constructor(seed: number) {
    this.random = seededRandom(seed);
  }

  pick(below: number): number {
    return Math.floor(this.random() * below);
  }

  shape(name: string): Shape {
    return this.shapes.get(name) ?? [];
  }

  node(opType: string, inputs: string[], shape: Shape, attributes: Record<string, Attribute> = {}): string {
    const name = `v${this.nodes.length}`;
    this.nodes.push({
      name: `n${name}`,
      opType,
      domain: '',
      inputs,
      outputs: [name],
      attributes: new Map(Object.entries(attributes)),
    });
    this.shapes.set(name, shape);
    return name;
  }

  weight(dims: Shape, scale: number): string {
    const name = `w${this.initializers.size}`;
    const tensor = randomTensor('float32', dims, this.random);
    const values = float32View(tensor);
    for (const [i, value] of values.entries()) values[i] = value * scale;
    this.initializers.set(name, tensor);
    return name;
  }

  integers(values: number[]): string {
    const name = `w${this.initializers.size}`;
    this.initializers.set(name, int64Tensor(values));
    return name;
  }
}

type Step = (writer: GraphWriter, input: string) => string | undefined;

function outputLength(
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

const unary: Step = (writer, input) => {
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

const steps: readonly Step[] = [
  convolution, convolution, convolution, unary, unary, channelConstant, pooling, residual, residual, concatenation,
  channelSlice, channelPad,
]; // biome-ignore format: weights by repetition

/** Normalised, or weighted, by results over channels, rows or both. */
const statistics: Step = (writer, input) => {
  const shape = writer.shape(input);
  const [, channels = 1] = shape;
  const axis = 1 + writer.pick(2);
  const kind = writer.pick(4);
  if (kind === 0) {
    const parameters = [writer.weight([channels], 1), writer.weight([channels], 1)];
    return writer.node('InstanceNormalization', [input, ...parameters], shape, { epsilon: float(0.01) });
  }
  if (kind === 1) return writer.node('Softmax', [input], shape, { axis: int(axis) });
  if (kind === 2) {
    const parameters = [writer.weight(shape.slice(axis), 1), writer.weight(shape.slice(axis), 1)];
    const attributes = { axis: int(axis), epsilon: float(0.01) };
    return writer.node('LayerNormalization', [input, ...parameters], shape, attributes);
  }
  const operators = ['ReduceMean', 'ReduceMax', 'ReduceL1', 'ReduceMin'];
  const reduced = shape.map((length, i) => (i === axis ? 1 : length));
  const result = writer.node(operators[writer.pick(operators.length)] ?? 'ReduceMax', [input], reduced, {
    axes: ints(axis),
  });
  return writer.node('Mul', [input, result], shape);
};

function head(writer: GraphWriter, input: string): string {
  const [n = 1, channels = 1] = writer.shape(input);
  const pooled = writer.node('GlobalAveragePool', [input], [n, channels, 1, 1]);
  const flat = writer.node('Flatten', [pooled], [n, channels]);
  const classes = 2 + writer.pick(9);
  const inputs = [flat, writer.weight([classes, channels], 0.3), writer.weight([classes], 0.1)];
  const logits = writer.node('Gemm', inputs, [n, classes], { transB: int(1) });
  return writer.pick(2) === 0 ? logits : writer.node('Softmax', [logits], [n, classes], { axis: int(-1) });
}

/** `withStatistics`: with operators that take results over channels and rows among the others. */
export function randomModel(seed: number, length: number, withStatistics = false): Model {
  const among = withStatistics ? [...steps, statistics, statistics, statistics] : steps;
  const writer = new GraphWriter(seed);
  const shape = [1, 1 + writer.pick(4), 5 + writer.pick(9), 5 + writer.pick(9)];
  writer.shapes.set('x', shape);
  let last = 'x';
  for (let i = 0; i < length; i++) {
    const step = among[writer.pick(among.length)];
    // A short way back now and then, so that values have several readers.
    const names = [...writer.shapes.keys()];
    const from = writer.pick(4) === 0 ? (names[writer.pick(names.length)] ?? last) : last;
    last = step?.(writer, from) ?? last;
  }
  const output = writer.pick(2) === 0 ? head(writer, last) : (unary(writer, last) ?? last);
  const info = (name: string) => ({ name, dataType: 'float32' as const, shape: writer.shape(name) });
  const graph: Graph = {
    name: `random ${seed}`,
    inputs: [info('x')],
    outputs: [info(output)],
    nodes: writer.nodes,
    initializers: writer.initializers,
    values: new Map([...writer.shapes.keys()].map((name) => [name, info(name)])),
  };
  return { irVersion: 8, opsets: new Map([['', 17]]), producer: 'test', metadata: new Map(), graph };
}
