/**
 * Matrix products: MatMul (opset 13) of A[..,M,K] and B[..,K,N] with broadcast leading axes, and its integer forms
 * MatMulInteger and QLinearMatMul (opset 10). Columns of the output follow those of B, rows those of A, leading axes
 * (heads) both. Beside a constant operand the other may hold its inner indices in any order.
 */
import { type Ranges, range, size } from '../ranges.ts';
import { elementCount } from '../tensor.ts';
import { aligned, type InputPart } from './partwise.ts';
import { type Need, type NodeView, needUnlessConstant, type OpRule, type Part, type Slab } from './rule.ts';

/** Which inputs of a product are what. */
interface ProductInputs {
  readonly a: number;
  readonly b: number;
  /** Inputs with one value per row of A or per column of B, or one for all. */
  readonly perRow: readonly number[];
  readonly perColumn: readonly number[];
}

type Side = 'rows' | 'columns' | 'leading';

function sideOf(view: NodeView, { axis }: Slab): Side {
  const rank = view.outputShape.length;
  if (axis === rank - 1) return 'columns';
  return axis === rank - 2 ? 'rows' : 'leading';
}

function product(roles: ProductInputs): OpRule {
  const macs = (view: NodeView) => elementCount(view.outputShape) * (view.inputShape(roles.a).at(-1) ?? 1);

  const inputPart = (view: NodeView, slab: Slab, input: number): InputPart => {
    const side = sideOf(view, slab);
    const rank = view.inputShape(input).length;
    if (input === roles.a || input === roles.b) {
      if (side === 'leading') return aligned(view, input, slab);
      if (side === 'rows') return input === roles.a ? { axis: rank - 2, ranges: slab.ranges } : 'whole';
      return input === roles.b ? { axis: rank - 1, ranges: slab.ranges } : 'whole';
    }
    const follows = side === 'rows' ? roles.perRow : side === 'columns' ? roles.perColumn : [];
    const perIndex = follows.includes(input) && rank === 1 && view.inputShape(input)[0] !== 1;
    return perIndex ? { axis: 0, ranges: slab.ranges } : 'whole';
  };

  /** The operand that is asked for in any order, because the one that follows the slab is constant. */
  const freeOperand = (view: NodeView, slab: Slab): number | undefined => {
    const side = sideOf(view, slab);
    if (side === 'leading') return undefined;
    const [follows, other] = side === 'rows' ? [roles.a, roles.b] : [roles.b, roles.a];
    return view.isConstant(follows) && !view.isConstant(other) ? other : undefined;
  };

  const innerAxis = (view: NodeView, input: number) =>
    view.inputShape(input).length - (input === roles.a ? 1 : 2);

  const emitInput = (view: NodeView, part: Part, input: number, inner: Ranges | undefined) => {
    const own = inputPart(view, part, input);
    const selections: Record<number, Ranges> = {};
    if (own !== 'whole') selections[own.axis] = own.ranges;
    const operand = input === roles.a || input === roles.b;
    if (operand && inner !== undefined) selections[innerAxis(view, input)] = inner;
    return selections;
  };

  return {
    kind: 'contraction',
    doc: {
      channels:
        'columns: all inner indices in any order where the other operand is constant, else A whole and the columns of B',
      rows: 'rows (tokens): the same rows of A; B whole',
      others: 'leading axes (heads): the same indices of both operands',
    },
    needs(view, slab) {
      const { a, b } = roles;
      // Vectors lose an axis in the product, and per-index zero points of higher rank follow other axes.
      if (view.inputShape(a).length < 2 || view.inputShape(b).length < 2) return undefined;
      if ([...roles.perRow, ...roles.perColumn].some((i) => view.inputShape(i).length > 1)) return undefined;
      const free = freeOperand(view, slab);
      return view.node.inputs.map((_, i): Need => {
        if (i !== free) return needUnlessConstant(view, i, inputPart(view, slab, i));
        const axis = innerAxis(view, i);
        return { axis, ranges: range(0, view.inputShape(i)[axis] ?? 1), anyOrder: true };
      });
    },
    emit(view, part, builder) {
      const free = freeOperand(view, part);
      const inner = free === undefined ? undefined : part.inputs[free]?.order;
      const inputs = view.node.inputs.map((name, i) => {
        if (name === '') return '';
        if (!view.isConstant(i)) return part.inputs[i]?.name ?? '';
        return builder.weight(name, emitInput(view, part, i, inner));
      });
      const columns = inner === undefined ? (view.inputShape(roles.a).at(-1) ?? 1) : size(inner);
      const outputs = elementCount(view.outputShape) / (view.outputShape[part.axis] ?? 1);
      builder.countMacs(outputs * size(part.ranges) * columns);
      return builder.node(view.node.opType, inputs, view.node.attributes, part.output);
    },
    macs,
  };
}

/** A, B. */
export const matMul = product({ a: 0, b: 1, perRow: [], perColumn: [] });

/** A, B, a_zero_point, b_zero_point. */
export const matMulInteger = product({ a: 0, b: 1, perRow: [2], perColumn: [3] });

/** a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point. */
export const qLinearMatMul = product({ a: 0, b: 3, perRow: [1, 2], perColumn: [4, 5] });
