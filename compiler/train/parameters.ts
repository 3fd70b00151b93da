/** The weights of a graph that training changes, with what the optimiser keeps beside each. */
import type { Graph, Node } from '../../graph/graph.ts';
import { elementCount, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';

export interface Parameter {
  readonly dims: readonly number[];
  readonly value: Float32Array;
  readonly velocity: Float32Array;
  /** Running mean of squared gradients; only for AdamW. */
  readonly square?: Float32Array;
  /** 1 where the weight is there, 0 where it is thinned out: then it counts as 0 and never changes. */
  mask: Uint8Array | undefined;
}

export type Parameters = ReadonlyMap<string, Parameter>;

/** Positions of weights in an operator's inputs; null: any input that is an initializer of more than one element. */
const weightInputs: Readonly<Record<string, readonly number[] | null>> = {
  Add: null,
  BatchNormalization: [1, 2],
  Conv: [1, 2],
  ConvTranspose: [1, 2],
  Gemm: [1, 2],
  LayerNormalization: [1, 2],
  MatMul: null,
  PRelu: [1],
  Sub: null,
};

/** Names of the float32 initializers that are weights, in the order of the nodes. */
export function weightNames(graph: Graph): readonly string[] {
  return [...new Set(graph.nodes.flatMap((node) => weightsOf(graph, node)))];
}

function weightsOf(graph: Graph, node: Node): string[] {
  const positions = weightInputs[node.opType];
  if (positions === undefined || node.domain !== '') return [];
  return node.inputs.filter((name, i) => {
    const tensor = graph.initializers.get(name);
    if (tensor?.dataType !== 'float32') return false;
    return positions === null ? elementCount(tensor.dims) > 1 : positions.includes(i);
  });
}

/** Copies: training leaves the graph as it is. */
export function parametersOf(
  graph: Graph,
  names: readonly string[],
  squares = false,
): Map<string, Parameter> {
  return new Map(
    names.flatMap((name) => {
      const tensor = graph.initializers.get(name);
      if (tensor === undefined) return [];
      const value = float32View(tensor).slice();
      const parameter: Parameter = {
        dims: tensor.dims,
        value,
        velocity: new Float32Array(value.length),
        ...(squares ? { square: new Float32Array(value.length) } : {}),
        mask: undefined,
      };
      return [[name, parameter] as const];
    }),
  );
}

/** The weight as the network sees it, with what is thinned out at 0. */
export function effectiveWeight({ dims, value, mask }: Parameter): Tensor {
  return float32Tensor(
    dims,
    mask === undefined ? value : value.map((weight, i) => (mask[i] === 0 ? 0 : weight)),
  );
}
