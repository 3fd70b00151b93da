/** Random small networks with concrete shapes; divisions of them are in randomDivision.ts. */
import type { Graph, Model } from '../../graph/graph.ts';
import { GraphWriter, type Step } from './graphWriter.ts';
import { float, int, ints } from './operatorCase.ts';
import { steps, unary } from './randomSteps.ts';

/** Normalised by a mean and the variance around it, as exporters take layer normalisation apart. */
function takenApart(writer: GraphWriter, input: string, axis: number): string {
  const shape = writer.shape(input);
  const kept = shape.map((length, i) => (i === axis ? 1 : length));
  const mean = writer.node('ReduceMean', [input], kept, { axes: ints(axis) });
  const deviation = writer.node('Sub', [input, mean], shape);
  const squares = writer.node('Mul', [deviation, deviation], shape);
  const variance = writer.node('ReduceMean', [squares], kept, { axes: ints(axis) });
  const positive = writer.node('Add', [variance, writer.scalar(0.05)], kept);
  const root = writer.node('Sqrt', [positive], kept);
  return writer.node('Div', [deviation, root], shape);
}

/** Normalised, or weighted, by results over channels, rows or both. */
const statistics: Step = (writer, input) => {
  const shape = writer.shape(input);
  const [, channels = 1] = shape;
  const axis = 1 + writer.pick(2);
  const kind = writer.pick(5);
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
  if (kind === 3) return takenApart(writer, input, axis);
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
  return randomModelOf(
    withStatistics ? [...steps, statistics, statistics, statistics] : steps,
    seed,
    length,
    17,
  );
}

export function randomModelOf(among: readonly Step[], seed: number, length: number, opset: number): Model {
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
  return { irVersion: 8, opsets: new Map([['', opset]]), producer: 'test', metadata: new Map(), graph };
}
