/** Writes an operator out as several older ones; the last of them makes what the operator made. */
import type { Attribute, Node } from '../../graph.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../tensor.ts';
import { derivedNode, firstOutput, type LiftContext, refuse } from './liftRule.ts';

export interface Expansion {
  readonly input: string;
  add(opType: string, inputs: readonly string[], attributes?: Readonly<Record<string, Attribute>>): string;
  constant(tensor: Tensor, hint: string): string;
  scalar(value: number, hint: string): string;
  /** int64 */
  list(values: readonly number[], hint: string): string;
  finish(): readonly Node[];
}

/** Refuses an operator whose first input is known to be no float32. */
export function expansion(origin: Node, context: LiftContext): Expansion {
  const nodes: Node[] = [];
  const [input = ''] = origin.inputs;
  if ((context.dataType(input) ?? 'float32') !== 'float32')
    refuse(origin, context, 'its input is not float32');
  const constant = (tensor: Tensor, hint: string) => context.addConstant(tensor, `${origin.name}/${hint}`);
  return {
    input,
    add(opType, inputs, attributes = {}) {
      const output = context.freshName(`${origin.name}/${opType}`);
      const node = derivedNode(origin, opType, inputs, output, attributes);
      nodes.push({ ...node, name: `${node.name}_${nodes.length}` });
      return output;
    },
    constant,
    scalar: (value, hint) => constant(float32Tensor([], [value]), hint),
    list: (values, hint) => constant(int64Tensor(values), hint),
    finish() {
      const last = nodes.pop();
      if (last !== undefined) nodes.push({ ...last, name: origin.name, outputs: [firstOutput(origin)] });
      return nodes;
    },
  };
}
