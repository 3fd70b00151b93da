/** Attributes of operators that treat every element by itself. */
import type { Node } from '../graph.ts';
import { float, int, optionalFloat, optionalInt, text } from './read.ts';

export const leakyReluAttributes = (node: Node) => ({ alpha: float(node, 'alpha', 0.01) });

export const hardSigmoidAttributes = (node: Node) => ({
  alpha: float(node, 'alpha', 0.2),
  beta: float(node, 'beta', 0.5),
});

export const geluAttributes = (node: Node) => ({ approximate: text(node, 'approximate', 'none') });

export const swishAttributes = (node: Node) => ({ alpha: float(node, 'alpha', 1) });

/** Until opset 10; then they are inputs. Undefined where there is no such limit. */
export const clipAttributes = (node: Node) => ({
  min: optionalFloat(node, 'min'),
  max: optionalFloat(node, 'max'),
});

/** A number of TensorProto.DataType; 0 is none. The specification has no default. */
export const castAttributes = (node: Node) => ({ to: int(node, 'to', 0) });

/** Until opset 6 operators of two inputs said where the second lies along the first; undefined at its end. */
export const broadcastAttributes = (node: Node) => ({ axis: optionalInt(node, 'axis') });

/** QuantizeLinear and DequantizeLinear; types are numbers of TensorProto.DataType, 0 is none. */
export const quantizeLinearAttributes = (node: Node) => ({
  axis: int(node, 'axis', 1),
  /** From opset 21: elements that share a scale along `axis`; 0 where scales are not of blocks. */
  blockSize: int(node, 'block_size', 0),
  outputDtype: int(node, 'output_dtype', 0),
  /** From opset 23: the type to compute in. */
  precision: int(node, 'precision', 0),
});
