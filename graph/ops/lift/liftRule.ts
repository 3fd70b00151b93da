/**
 * What a lifting rule is: one operator's step between opset versions, to opset 17 from below or from above.
 * The rules themselves are in the files beside, listed in liftRules.ts.
 */
import { StarlingError } from '../../../protocol/errors.ts';
import type { Attribute, Node } from '../../graph.ts';
import { workingOpset } from '../../opsets.ts';
import type { DataType, Tensor } from '../../tensor.ts';

/** What a rule may ask of the graph around its node. */
export interface LiftContext {
  /** The version the file uses. */
  readonly opset: number;
  /** Undefined within subgraphs, whose shapes nobody measured. */
  shape(value: string): readonly number[] | undefined;
  dataType(value: string): DataType | undefined;
  constant(value: string): Tensor | undefined;
  /** Whether any node or graph output reads the value. */
  isUsed(value: string): boolean;
  /** Adds an initializer and returns its name, made from `hint`. */
  addConstant(tensor: Tensor, hint: string): string;
  /** A value name that is not taken, made from `hint`. */
  freshName(hint: string): string;
}

export interface LiftStep {
  /** The step applies to files of an opset below this version... */
  readonly below?: number;
  /** ...or, for files newer than opset 17, from this version on. */
  readonly from?: number;
  /** The nodes that do in opset 17 what the node did; throws MODEL_UNSUPPORTED where there are none. */
  lift(node: Node, context: LiftContext): readonly Node[];
}

/** An optional input, or undefined where it is absent. */
export function inputAt(node: Node, index: number): string | undefined {
  const name = node.inputs[index];
  return name === '' ? undefined : name;
}

export function firstOutput(node: Node): string {
  return node.outputs[0] ?? '';
}

/** A node that takes part in replacing `origin`; its name says so. */
export function derivedNode(
  origin: Node,
  opType: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, Attribute>> = {},
): Node {
  const name = output === firstOutput(origin) ? origin.name : `${origin.name}/${opType}`;
  return {
    name,
    opType,
    domain: '',
    inputs,
    outputs: [output],
    attributes: new Map(Object.entries(attributes)),
  };
}

export function refuse(node: Node, context: LiftContext, reason: string): never {
  throw new StarlingError(
    'MODEL_UNSUPPORTED',
    `Node "${node.name}" (${node.opType}) of opset ${context.opset} cannot be expressed in opset ${workingOpset}: ${reason}.`,
  );
}

/** A constant input's value; refuses the node where the input is computed at run time. */
export function requireConstant(node: Node, index: number, context: LiftContext, what: string): Tensor {
  const name = inputAt(node, index);
  const tensor = name === undefined ? undefined : context.constant(name);
  return tensor ?? refuse(node, context, `its ${what} must be constant`);
}
