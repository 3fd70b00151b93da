/**
 * Einsum (opset 12) without ellipses or repeated letters in one term. A part along a letter needs the same indices of
 * every operand that has that letter. Weights beside one activation may meet its summed indices in any order.
 */
import { einsumAttributes } from '../attributes/products.ts';
import { type Ranges, range, size } from '../ranges.ts';
import { type Need, type NodeView, needUnlessConstant, type OpRule, type Slab } from './rule.ts';

interface Equation {
  readonly terms: readonly string[];
  readonly output: string;
}

function equationOf(view: NodeView): Equation | undefined {
  const [left = '', right] = einsumAttributes(view.node).equation.replaceAll(' ', '').split('->');
  const terms = left.split(',');
  const letters = terms.join('');
  const once = [...new Set(letters)].filter((letter) => letters.split(letter).length === 2);
  const output = right ?? once.sort().join('');
  const plain = [...terms, output].every(
    (term) => /^[A-Za-z]*$/.test(term) && new Set(term).size === term.length,
  );
  return plain && terms.length === view.node.inputs.length ? { terms, output } : undefined;
}

function lengthOf(view: NodeView, { terms }: Equation, letter: string): number {
  const input = terms.findIndex((term) => term.includes(letter));
  return view.inputShape(input)[terms[input]?.indexOf(letter) ?? 0] ?? 1;
}

/** Every product that a plain nest of loops over all letters makes. */
function macs(view: NodeView): number {
  const equation = equationOf(view);
  if (equation === undefined) return 0;
  const letters = [...new Set(equation.terms.join(''))];
  return letters.reduce((product, letter) => product * lengthOf(view, equation, letter), 1);
}

interface FreeSum {
  readonly input: number;
  readonly letter: string;
}

/** The one activation and a summed letter it shares with the constants, where only constants have the slab's letter. */
function freeSum(view: NodeView, { terms, output }: Equation, own: string): FreeSum | undefined {
  const activations = terms.flatMap((_, i) => (view.isConstant(i) ? [] : [i]));
  const [input] = activations;
  if (input === undefined || activations.length > 1 || terms[input]?.includes(own) === true) return undefined;
  const summed = [...(terms[input] ?? '')].filter(
    (letter) => !output.includes(letter) && terms.some((term, i) => i !== input && term.includes(letter)),
  );
  const [letter] = summed;
  return letter === undefined ? undefined : { input, letter };
}

function ownSlab(equation: Equation, slab: Slab, input: number): Slab | 'whole' {
  const axis = equation.terms[input]?.indexOf(equation.output[slab.axis] ?? '') ?? -1;
  return axis < 0 ? 'whole' : { axis, ranges: slab.ranges };
}

export const einsum: OpRule = {
  kind: 'contraction',
  doc: {
    channels: 'the same indices of every operand that has that letter',
    rows: 'the same indices of every operand that has that letter',
    others: 'likewise; all summed indices in any order where the others are constant',
  },
  needs(view, slab) {
    const equation = equationOf(view);
    if (equation === undefined) return undefined;
    const free = freeSum(view, equation, equation.output[slab.axis] ?? '');
    return view.node.inputs.map((_, i): Need => {
      if (i !== free?.input) return needUnlessConstant(view, i, ownSlab(equation, slab, i));
      const axis = equation.terms[i]?.indexOf(free.letter) ?? 0;
      return { axis, ranges: range(0, lengthOf(view, equation, free.letter)), anyOrder: true };
    });
  },
  emit(view, part, builder) {
    const equation = equationOf(view);
    if (equation === undefined) return '';
    const free = freeSum(view, equation, equation.output[part.axis] ?? '');
    const inputs = view.node.inputs.map((name, i) => {
      if (!view.isConstant(i)) return part.inputs[i]?.name ?? '';
      const own = ownSlab(equation, part, i);
      const selections: Record<number, Ranges> = own === 'whole' ? {} : { [own.axis]: own.ranges };
      const axis = free === undefined ? -1 : (equation.terms[i]?.indexOf(free.letter) ?? -1);
      if (free !== undefined && axis >= 0) selections[axis] = part.inputs[free.input]?.order ?? [];
      return builder.weight(name, selections);
    });
    const perIndex = macs(view) / (view.outputShape[part.axis] ?? 1);
    const held =
      free === undefined
        ? perIndex
        : (perIndex / lengthOf(view, equation, free.letter)) * size(part.inputs[free.input]?.order ?? []);
    builder.countMacs(held * size(part.ranges));
    return builder.node('Einsum', inputs, view.node.attributes, part.output);
  },
  macs,
};
