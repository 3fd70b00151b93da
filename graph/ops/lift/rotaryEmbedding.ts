/** RotaryEmbedding (opset 23) written out: pairs of each head's elements are turned by angles that depend on the position. */
import { rotaryEmbeddingAttributes } from '../../attributes/attention.ts';
import type { Attribute } from '../../graph.ts';
import { type Expansion, expansion } from './expansion.ts';
import { inputAt, type LiftStep, refuse } from './liftRule.ts';

const int = (value: number): Attribute => ({ type: 'int', value });

/** Elements from, to and by a step along the last axis. */
function along({ add, list }: Expansion, value: string, from: number, to: number, step: number): string {
  const limits = [from, to, 3, step].map((one, i) => list([one], ['from', 'to', 'axis', 'step'][i] ?? ''));
  return add('Slice', [value, ...limits]);
}

export const rotaryEmbedding: LiftStep = {
  from: 23,
  lift: (node, context) => {
    const spelt = expansion(node, context);
    const { input, add, list } = spelt;
    const { interleaved, numHeads, rotaryEmbeddingDim } = rotaryEmbeddingAttributes(node);
    const shape = context.shape(input) ?? refuse(node, context, 'the shape of its input is unknown');
    const isFlat = shape.length === 3;
    if (isFlat && numHeads < 1) refuse(node, context, 'it does not say its number of heads');
    const length = isFlat ? (shape[2] ?? 1) / numHeads : (shape[3] ?? 1);
    const turned = rotaryEmbeddingDim === 0 ? length : rotaryEmbeddingDim;
    // [batch, tokens, heads, length] where the input is flat, else [batch, heads, tokens, length].
    const x = isFlat ? add('Reshape', [input, list([0, 0, numHeads, length], 'heads')]) : input;
    const positions = inputAt(node, 3);
    const angles = (cache: string) => {
      const picked = positions === undefined ? cache : add('Gather', [cache, positions], { axis: int(0) });
      return add('Unsqueeze', [picked, list([isFlat ? 2 : 1], 'axis')]);
    };
    const [cos, sin] = [angles(node.inputs[1] ?? ''), angles(node.inputs[2] ?? '')];
    const half = turned / 2;
    const first = interleaved ? along(spelt, x, 0, turned, 2) : along(spelt, x, 0, half, 1);
    const second = interleaved ? along(spelt, x, 1, turned, 2) : along(spelt, x, half, turned, 1);
    const real = add('Sub', [add('Mul', [cos, first]), add('Mul', [sin, second])]);
    const imaginary = add('Add', [add('Mul', [sin, first]), add('Mul', [cos, second])]);
    const pieces = [real, imaginary];
    if (interleaved) {
      const pairs = pieces.map((piece) => add('Unsqueeze', [piece, list([4], 'pair')]));
      const joined = add('Concat', pairs, { axis: int(4) });
      pieces.splice(0, 2, add('Reshape', [joined, list([0, 0, 0, turned], 'pairs')]));
    }
    if (turned < length) pieces.push(along(spelt, x, turned, length, 1));
    const whole = add('Concat', pieces, { axis: int(3) });
    if (isFlat) add('Reshape', [whole, list([0, 0, -1], 'joined')]);
    return spelt.finish();
  },
};
