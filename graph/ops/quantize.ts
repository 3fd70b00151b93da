/** QuantizeLinear and DequantizeLinear (opset 13): x, scale, zero point; one scale, or one per index along `axis`. */
import { quantizeLinearAttributes } from '../attributes/elementwise.ts';
import { partwise } from './partwise.ts';
import { type OpRule, positiveAxis } from './rule.ts';

export const quantizeLinear: OpRule = partwise({
  kind: 'pointwise',
  doc: {
    channels: 'the same channels, and their scales where each has its own',
    rows: 'the same rows',
    others: 'the same indices, and their scales along `axis`',
  },
  inputs(view, slab) {
    const axis = positiveAxis(quantizeLinearAttributes(view.node).axis, view.outputShape.length);
    return view.node.inputs.map((name, i) => {
      if (i === 0) return slab;
      const perIndex = name !== '' && view.inputShape(i).length === 1 && (view.inputShape(i)[0] ?? 1) > 1;
      return perIndex && slab.axis === axis ? { axis: 0, ranges: slab.ranges } : 'whole';
    });
  },
});
