/** Operators that treat every element alike, with NumPy broadcasting between their inputs. */
import type { Ranges } from '../ranges.ts';
import type { Need, NodeView, OpRule } from './rule.ts';

/** The input's axis that lines up with the output's, or undefined where the input is broadcast along it. */
function alignedAxis(view: NodeView, input: number, axis: number): number | undefined {
  const shape = view.inputShape(input);
  const aligned = axis - (view.outputShape.length - shape.length);
  return aligned >= 0 && shape[aligned] !== 1 ? aligned : undefined;
}

function need(view: NodeView, input: number, axis: number, ranges: Ranges): Need {
  if (view.node.inputs[input] === '' || view.isConstant(input)) return 'none';
  const aligned = alignedAxis(view, input, axis);
  return aligned === undefined ? 'whole' : { axis: aligned, ranges };
}

export const elementwise: OpRule = {
  kind: 'pointwise',
  needs: (view, { axis, ranges }) =>
    view.outputShape[axis] === 1 ? undefined : view.node.inputs.map((_, i) => need(view, i, axis, ranges)),
  emit(view, part, builder) {
    const inputs = view.node.inputs.map((input, i) => {
      if (input === '') return '';
      if (!view.isConstant(i)) return part.inputs[i]?.name ?? '';
      const aligned = alignedAxis(view, i, part.axis);
      return builder.weight(input, aligned === undefined ? {} : { [aligned]: part.ranges });
    });
    return builder.node(view.node.opType, inputs, view.node.attributes, part.output);
  },
};
