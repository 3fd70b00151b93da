/** Rules of operators whose part is the operator itself on parts of its inputs. */
import type { Attribute } from '../graph.ts';
import { size } from '../ranges.ts';
import {
  type NodeView,
  needUnlessConstant,
  type OpRule,
  type Part,
  type RuleDoc,
  type RuleKind,
  type Slab,
} from './rule.ts';

/** What a part reads of one input. */
export type InputPart = Slab | 'whole';

export interface PartwiseRule {
  readonly kind: RuleKind;
  readonly doc: RuleDoc;
  /** One entry per input, or undefined where the output cannot be divided along this axis. */
  inputs(view: NodeView, slab: Slab): readonly InputPart[] | undefined;
  attributes?(view: NodeView, part: Part): ReadonlyMap<string, Attribute>;
  macs?(view: NodeView): number;
}

export function partwise(rule: PartwiseRule): OpRule {
  const { kind, doc, macs } = rule;
  return {
    kind,
    doc,
    needs: (view, slab) => rule.inputs(view, slab)?.map((part, i) => needUnlessConstant(view, i, part)),
    emit(view, part, builder) {
      const parts = rule.inputs(view, part) ?? [];
      const inputs = view.node.inputs.map((name, i) => {
        if (name === '') return '';
        if (!view.isConstant(i)) return part.inputs[i]?.name ?? '';
        const own = parts[i];
        return builder.weight(name, typeof own === 'object' ? { [own.axis]: own.ranges } : {});
      });
      const length = view.outputShape[part.axis] ?? 1;
      if (macs !== undefined) builder.countMacs((macs(view) * size(part.ranges)) / length);
      const attributes = rule.attributes?.(view, part) ?? view.node.attributes;
      return builder.node(view.node.opType, inputs, attributes, part.output);
    },
    ...(macs === undefined ? {} : { macs }),
  };
}

/** The same slab of the first input, everything of the others. */
export function firstInput(view: NodeView, slab: Slab): InputPart[] {
  return view.node.inputs.map((_, i) => (i === 0 ? slab : 'whole'));
}

/** The slab of an input that lines up with an output slab by NumPy broadcasting; whole where it is broadcast along it. */
export function aligned(view: NodeView, input: number, slab: Slab): InputPart {
  const shape = view.inputShape(input);
  const axis = slab.axis - (view.outputShape.length - shape.length);
  const follows = axis >= 0 && shape[axis] !== 1;
  return follows ? { axis, ranges: slab.ranges } : 'whole';
}

/** A rule for operators that treat every index alike except along the axes that `mixed` lists. */
export function alongOtherAxes(doc: RuleDoc, mixed: (view: NodeView) => readonly number[]): OpRule {
  return partwise({
    kind: 'pointwise',
    doc,
    inputs: (view, slab) => (mixed(view).includes(slab.axis) ? undefined : firstInput(view, slab)),
  });
}
