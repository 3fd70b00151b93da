/** Gemm (opset 13): alpha * A' x B' + beta * C with optional transposes, A'[M,K], B'[K,N], C broadcast to [M,N]. */
import { gemmAttributes } from '../attributes/products.ts';
import { type Ranges, range, size } from '../ranges.ts';
import { elementCount } from '../tensor.ts';
import { aligned, type InputPart } from './partwise.ts';
import { type Need, type NodeView, needUnlessConstant, type OpRule, type Slab } from './rule.ts';

interface Operand {
  /** Its axis that appears in the output, and the one that is summed over. */
  readonly outer: number;
  readonly inner: number;
}

function operands(view: NodeView): readonly [Operand, Operand] {
  const { transA, transB } = gemmAttributes(view.node);
  const a = transA ? { outer: 1, inner: 0 } : { outer: 0, inner: 1 };
  const b = transB ? { outer: 0, inner: 1 } : { outer: 1, inner: 0 };
  return [a, b];
}

/** Output axis 0 follows A and output axis 1 follows B. */
function inputPart(view: NodeView, slab: Slab, input: number): InputPart {
  if (input === 2) return aligned(view, 2, slab);
  const operand = operands(view)[input];
  return input === slab.axis && operand !== undefined
    ? { axis: operand.outer, ranges: slab.ranges }
    : 'whole';
}

/** The operand that is asked for in any order, because the one that follows the slab is constant. */
function freeOperand(view: NodeView, { axis }: Slab): 0 | 1 | undefined {
  const other = axis === 0 ? 1 : 0;
  return view.isConstant(axis) && !view.isConstant(other) ? other : undefined;
}

function innerLength(view: NodeView): number {
  return view.inputShape(0)[operands(view)[0].inner] ?? 1;
}

function macs(view: NodeView): number {
  return elementCount(view.outputShape) * innerLength(view);
}

export const gemm: OpRule = {
  kind: 'contraction',
  doc: {
    channels:
      'columns: all inner indices in any order where B is constant, else A whole and the columns of B',
    rows: 'the same rows of A (tokens, samples); B whole',
  },
  needs(view, slab) {
    const free = freeOperand(view, slab);
    return view.node.inputs.map((_, i): Need => {
      const operand = operands(view)[i];
      if (i !== free || operand === undefined) return needUnlessConstant(view, i, inputPart(view, slab, i));
      return { axis: operand.inner, ranges: range(0, innerLength(view)), anyOrder: true };
    });
  },
  emit(view, part, builder) {
    const free = freeOperand(view, part);
    const inner = free === undefined ? undefined : part.inputs[free]?.order;
    const inputs = view.node.inputs.map((name, i) => {
      if (name === '') return '';
      if (!view.isConstant(i)) return part.inputs[i]?.name ?? '';
      const own = inputPart(view, part, i);
      const selections: Record<number, Ranges> = own === 'whole' ? {} : { [own.axis]: own.ranges };
      const operand = operands(view)[i];
      if (operand !== undefined && inner !== undefined) selections[operand.inner] = inner;
      return builder.weight(name, selections);
    });
    const columns = inner === undefined ? innerLength(view) : size(inner);
    builder.countMacs((view.outputShape[1 - part.axis] ?? 1) * size(part.ranges) * columns);
    return builder.node('Gemm', inputs, view.node.attributes, part.output);
  },
  macs,
};
