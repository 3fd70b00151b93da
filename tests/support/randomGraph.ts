/** Random small networks with concrete shapes, and random divisions of them: any owner for any index is a valid division. */
import fc from 'fast-check';
import type { Attribute, Graph, Model, Node } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { covers, fromIndices, type Ranges, range, union } from '../../graph/ranges.ts';
import { float32Tensor, float32View, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import { contractedAlong } from '../../runtime/lower/partials.ts';
import type { Division, Placement, Sharding } from '../../runtime/lower/program.ts';

type Shape = readonly number[];

const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
const int = (value: number): Attribute => ({ type: 'int', value });

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

function head(writer: GraphWriter, input: string): string {
  const [n = 1, channels = 1] = writer.shape(input);
  const pooled = writer.node('GlobalAveragePool', [input], [n, channels, 1, 1]);
  const flat = writer.node('Flatten', [pooled], [n, channels]);
  const classes = 2 + writer.pick(9);
  const inputs = [flat, writer.weight([classes, channels], 0.3), writer.weight([classes], 0.1)];
  const logits = writer.node('Gemm', inputs, [n, classes], { transB: int(1) });
  return writer.pick(2) === 0 ? logits : writer.node('Softmax', [logits], [n, classes], { axis: int(-1) });
}

export function randomModel(seed: number, length: number): Model {
  const writer = new GraphWriter(seed);
  const shape = [1, 1 + writer.pick(4), 5 + writer.pick(9), 5 + writer.pick(9)];
  writer.shapes.set('x', shape);
  let last = 'x';
  for (let i = 0; i < length; i++) {
    const step = steps[writer.pick(steps.length)];
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

/** Gives every index of some values an owner at random, along any axis but the batch's. */
export function randomDivision(graph: Graph, numShards: number, seed: number): Division {
  const random = seededRandom(seed);
  const shardings = new Map<string, Sharding>();
  for (const { outputs } of graph.nodes) {
    const [name = ''] = outputs;
    const shape = graph.values.get(name)?.shape ?? [];
    const axis = 1 + Math.floor(random() * Math.max(1, shape.length - 1));
    const extent = shape[axis];
    if (typeof extent !== 'number' || extent < 1 || random() < 0.3) continue;
    // Mostly runs, as real divisions have them, and now and then a scatter.
    const scattered = random() < 0.2;
    const owners = Array.from({ length: extent }, (_, i) =>
      Math.floor(scattered ? random() * numShards : (i * numShards) / extent),
    );
    const parts = Array.from({ length: numShards }, (_, shard) =>
      fromIndices(owners.flatMap((owner, i) => (owner === shard ? [i] : []))),
    );
    shardings.set(name, { axis, parts });
  }
  return { numShards, shardings, partials: randomPartials(graph, numShards, random) };
}

/** Some contractions summed in parts, each input feature by a random shard. */
function randomPartials(
  graph: Graph,
  numShards: number,
  random: () => number,
): Division['partials'] & object {
  const values = shapedValues(graph);
  const partials = new Map<string, readonly Ranges[]>();
  for (const node of graph.nodes) {
    const along = contractedAlong(graph, values, node);
    if (along === undefined || random() < 0.5) continue;
    const owners = Array.from({ length: along.features }, () => Math.floor(random() * numShards));
    const parts = Array.from({ length: numShards }, (_, shard) =>
      fromIndices(owners.flatMap((owner, i) => (owner === shard ? [i] : []))),
    );
    partials.set(node.name, parts);
  }
  return partials;
}

/** Random sets of input features for every contraction, own ones always among them, and the model they amount to. */
export function randomSupports(
  model: Model,
  division: Division,
  seed: number,
): { division: Division; model: Model } {
  const random = seededRandom(seed);
  const supports = new Map<string, readonly Ranges[]>();
  const initializers = new Map(model.graph.initializers);
  for (const { name, opType, inputs, outputs, attributes } of model.graph.nodes) {
    const [input = '', weight = ''] = inputs;
    const tensor = initializers.get(weight);
    const owners = division.shardings.get(outputs[0] ?? '')?.parts;
    const group = attributes.get('group');
    const dense = opType === 'Gemm' || (opType === 'Conv' && group?.type === 'int' && group.value === 1);
    if (!dense || tensor === undefined || owners === undefined) continue;
    const channels = tensor.dims[1] ?? 0;
    const own = division.shardings.get(input)?.parts;
    const chosen = owners.map((_, shard) => {
      const extra = fromIndices(Array.from({ length: channels }, (_, i) => i).filter(() => random() < 0.4));
      const support = union(own?.[shard] ?? [], extra);
      return support.length > 0 ? support : range(0, 1);
    });
    supports.set(name, chosen);
    initializers.set(weight, masked(tensor, owners, chosen));
  }
  return {
    division: { ...division, supports },
    model: { ...model, graph: { ...model.graph, initializers } },
  };
}

/** A weight [outputs, inputs, ...] with zeros wherever the owner of the output does not read the input. */
function masked(tensor: Tensor, owners: readonly Ranges[], supports: readonly Ranges[]): Tensor {
  const values = float32View(tensor).slice();
  const [outputs = 0, inputs = 0, ...kernel] = tensor.dims;
  const size = kernel.reduce((product, dim) => product * dim, 1);
  for (let row = 0; row < outputs; row++) {
    const shard = owners.findIndex((ranges) => covers(ranges, range(row, row + 1)));
    for (let column = 0; column < inputs; column++) {
      if (covers(supports[shard] ?? [], range(column, column + 1))) continue;
      values.fill(0, (row * inputs + column) * size, (row * inputs + column + 1) * size);
    }
  }
  return float32Tensor(tensor.dims, values);
}

export const placements = (numShards: number): fc.Arbitrary<Placement> =>
  fc
    .array(fc.nat(Math.max(0, numShards - 1)), { minLength: numShards, maxLength: numShards })
    .map((devices) => {
      const placement: number[][] = Array.from({ length: Math.max(...devices) + 1 }, () => []);
      for (const [shard, device] of devices.entries()) placement[device]?.push(shard);
      return placement;
    });
