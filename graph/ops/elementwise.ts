/** Operators that treat every element alike, with NumPy broadcasting between their inputs. */
import { aligned, partwise } from './partwise.ts';

export const elementwise = partwise({
  kind: 'pointwise',
  doc: {
    channels: 'the same channels of every input',
    rows: 'the same rows of every input',
    others: 'the same indices; an input that is broadcast along the axis whole',
  },
  inputs: (view, slab) =>
    view.outputShape[slab.axis] === 1
      ? undefined
      : view.node.inputs.map((name, i) => (name === '' ? 'whole' : aligned(view, i, slab))),
});
