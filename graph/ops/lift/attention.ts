/**
 * Attention (opset 23) written out: softmax(scale Q K' + mask) V for every head, [batch, heads, tokens, length] inside. Keys
 * and values that are kept from earlier calls are refused.
 */
import { attentionAttributes } from '../../attributes/attention.ts';
import type { Attribute, Node } from '../../graph.ts';
import { float32Tensor } from '../../tensor.ts';
import { type Expansion, expansion } from './expansion.ts';
import { inputAt, type LiftContext, type LiftStep, refuse } from './liftRule.ts';

const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
const lowest = -3.4028234663852886e38;

interface Heads {
  readonly count: number;
  readonly tokens: number;
  readonly length: number;
}

function headsOf(node: Node, input: number, count: number, context: LiftContext): Heads {
  const shape = context.shape(node.inputs[input] ?? '');
  if (shape === undefined) refuse(node, context, 'the shapes of its inputs are unknown');
  const [, second = 1, third = 1, length = 1] = shape;
  if (shape.length === 4) return { count: second, tokens: third, length };
  if (count < 1) refuse(node, context, 'it does not say its number of heads');
  return { count, tokens: second, length: third / count };
}

/** With its axes in this order: 0 batch, 1 heads, 2 tokens, 3 length. */
function ordered(
  { add, list }: Expansion,
  input: string,
  { count, length }: Heads,
  isFlat: boolean,
  order: readonly number[],
): string {
  if (!isFlat) {
    const same = order.every((axis, i) => axis === i);
    return same ? input : add('Transpose', [input], { perm: ints(...order) });
  }
  const apart = add('Reshape', [input, list([0, 0, count, length], 'heads')]);
  // Tokens come before heads there.
  const swapped = order.map((axis) => [0, 2, 1, 3][axis] ?? axis);
  return add('Transpose', [apart], { perm: ints(...swapped) });
}

/** Heads of keys or values, each as often as heads of queries share it. */
function repeated({ add, list }: Expansion, value: string, heads: number, queries: number): string {
  if (heads === queries) return value;
  const times = queries / heads;
  const indices = Array.from({ length: queries }, (_, head) => Math.floor(head / times));
  return add('Gather', [value, list(indices, 'heads')], { axis: { type: 'int', value: 1 } });
}

function masked(
  node: Node,
  context: LiftContext,
  spelt: Expansion,
  scores: string,
  shape: readonly number[],
) {
  const { add, constant, scalar } = spelt;
  const [rows = 1, columns = 1] = shape;
  let result = scores;
  if (attentionAttributes(node).isCausal) {
    const mask = Float32Array.from({ length: rows * columns }, (_, i) =>
      i % columns > Math.floor(i / columns) ? lowest : 0,
    );
    result = add('Add', [result, constant(float32Tensor(shape, mask), 'causal')]);
  }
  const mask = inputAt(node, 3);
  if (mask === undefined) return result;
  return context.dataType(mask) === 'bool'
    ? add('Where', [mask, result, scalar(lowest, 'lowest')])
    : add('Add', [result, mask]);
}

export const attention: LiftStep = {
  from: 23,
  lift: (node, context) => {
    const further = node.outputs.slice(1).some((output) => output !== '' && context.isUsed(output));
    const kept = [4, 5, 6].some((input) => inputAt(node, input) !== undefined);
    if (further || kept) refuse(node, context, 'it keeps keys and values, or gives its scores');
    const spelt = expansion(node, context);
    const { add, list, scalar } = spelt;
    const { kvNumHeads, qNumHeads, scale, softcap } = attentionAttributes(node);
    const [query = '', key = '', value = ''] = node.inputs;
    const isFlat = context.shape(query)?.length === 3;
    const queries = headsOf(node, 0, qNumHeads, context);
    const keys = headsOf(node, 1, kvNumHeads, context);
    const values = headsOf(node, 2, kvNumHeads, context);
    const factor = scalar(scale ?? 1 / Math.sqrt(queries.length), 'scale');
    const q = add('Mul', [ordered(spelt, query, queries, isFlat, [0, 1, 2, 3]), factor]);
    const k = repeated(spelt, ordered(spelt, key, keys, isFlat, [0, 1, 3, 2]), keys.count, queries.count);
    const v = repeated(
      spelt,
      ordered(spelt, value, values, isFlat, [0, 1, 2, 3]),
      values.count,
      queries.count,
    );
    let scores = masked(node, context, spelt, add('MatMul', [q, k]), [queries.tokens, keys.tokens]);
    if (softcap !== 0) {
      const cap = scalar(softcap, 'softcap');
      scores = add('Mul', [add('Tanh', [add('Div', [scores, cap])]), cap]);
    }
    const mixed = add('MatMul', [add('Softmax', [scores], { axis: { type: 'int', value: -1 } }), v]);
    if (isFlat) {
      const tokens = add('Transpose', [mixed], { perm: ints(0, 2, 1, 3) });
      add('Reshape', [tokens, list([0, 0, queries.count * values.length], 'joined')]);
    }
    return spelt.finish();
  },
};
