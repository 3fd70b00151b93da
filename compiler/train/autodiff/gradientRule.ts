/** What a gradient rule is: from the gradient of a node's output to those of its inputs, as ONNX nodes. */
import type { Node } from '../../../graph/graph.ts';
import type { DataType, Tensor } from '../../../graph/tensor.ts';
import { StarlingError } from '../../../protocol/errors.ts';
import type { GraphBuilder, Ref } from './graphBuilder.ts';

export interface NodeContext {
  readonly node: Node;
  readonly builder: GraphBuilder;
  /** The node's first output, as the forward pass computes it. */
  readonly output: Ref;
  /** Throws GRAPH_INVALID where the input is absent. */
  input(index: number): Ref;
  has(index: number): boolean;
  /** Elements of an input that is an initializer. */
  constant(index: number): Tensor | undefined;
  /** A further output of the forward node, which is made to give it. */
  furtherOutput(index: number, shape: readonly number[], dataType?: DataType): Ref;
}

/** One function per input, called where that input's gradient is wanted; a null one has none. */
export type GradientRule = (context: NodeContext, gradient: Ref) => readonly ((() => Ref) | null)[];

/** The error of an operator whose gradient is not known in this form. */
export function noGradient(node: Node, what: string): StarlingError {
  return new StarlingError(
    'MODEL_UNSUPPORTED',
    `Node "${node.name}" (${node.opType}) cannot be trained through: ${what}.`,
  );
}
