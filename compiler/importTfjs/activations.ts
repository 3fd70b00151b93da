/** Keras activations, named by the string in a layer's configuration, as ONNX nodes. */
import { float32Tensor } from '../../graph/tensor.ts';
import { float, type GraphBuilder, int } from './graphBuilder.ts';

type Emit = (graph: GraphBuilder, name: string, input: string) => string;

const emitters: Readonly<Record<string, Emit>> = {
  relu: (graph, name, input) => graph.node('Relu', name, [input]),
  relu6: (graph, name, input) => clip(graph, name, input, 0, 6),
  sigmoid: (graph, name, input) => graph.node('Sigmoid', name, [input]),
  tanh: (graph, name, input) => graph.node('Tanh', name, [input]),
  elu: (graph, name, input) => graph.node('Elu', name, [input], { alpha: float(1) }),
  selu: (graph, name, input) => graph.node('Selu', name, [input]),
  softplus: (graph, name, input) => graph.node('Softplus', name, [input]),
  softsign: (graph, name, input) => graph.node('Softsign', name, [input]),
  hard_sigmoid: (graph, name, input) =>
    graph.node('HardSigmoid', name, [input], { alpha: float(0.2), beta: float(0.5) }),
  softmax: (graph, name, input) => graph.node('Softmax', name, [input], { axis: int(1) }),
  swish: (graph, name, input) =>
    graph.node('Mul', name, [input, graph.node('Sigmoid', `${name}/sigmoid`, [input])]),
};

/** The value after the activation (`input` itself for 'linear'), or undefined for one that is not known. */
export function emitActivation(
  graph: GraphBuilder,
  activation: string,
  name: string,
  input: string,
): string | undefined {
  if (activation === 'linear') return input;
  return Object.hasOwn(emitters, activation) ? emitters[activation]?.(graph, name, input) : undefined;
}

export function clip(graph: GraphBuilder, name: string, input: string, min: number, max: number): string {
  return graph.node('Clip', name, [
    input,
    graph.initializer(`${name}/min`, float32Tensor([], [min])),
    graph.initializer(`${name}/max`, float32Tensor([], [max])),
  ]);
}
