/** Attention and rotary embeddings in all their forms. */
import { int64Tensor } from '../../../graph/tensor.ts';
import { float, int } from '../operatorCase.ts';
import { type Case, floatsOf } from './liftCase.ts';

/** Queries are the graph's input; keys, values and masks are constants. */
const attentions: readonly Omit<Case, 'op' | 'opset'>[] = [
  { shape: [2, 4, 5, 6], constants: [floatsOf(2, 4, 7, 6), floatsOf(2, 4, 7, 3)] },
  { shape: [2, 4, 5, 6], constants: [floatsOf(2, 2, 7, 6), floatsOf(2, 2, 7, 3)], attributes: { scale: float(0.3) } },
  { shape: [2, 5, 24], constants: [floatsOf(2, 7, 12), floatsOf(2, 7, 6)], attributes: { q_num_heads: int(4), kv_num_heads: int(2) } },
  { shape: [1, 2, 5, 6], constants: [floatsOf(1, 2, 5, 6), floatsOf(1, 2, 5, 6)], attributes: { is_causal: int(1) } },
  { shape: [1, 2, 5, 6], constants: [floatsOf(1, 2, 7, 6), floatsOf(1, 2, 7, 6), floatsOf(5, 7)] },
  { shape: [1, 2, 5, 6], constants: [floatsOf(1, 2, 7, 6), floatsOf(1, 2, 7, 6)], attributes: { softcap: float(0.7) } },
  { shape: [1, 2, 2, 6], constants: [floatsOf(1, 2, 3, 6), floatsOf(1, 2, 3, 6), { dataType: 'bool', dims: [2, 3], data: Uint8Array.of(1, 0, 1, 1, 1, 0) }] },
]; // biome-ignore format: a table

const rotations: readonly Omit<Case, 'op' | 'opset'>[] = [
  { shape: [2, 3, 4, 8], constants: [floatsOf(9, 4), floatsOf(9, 4), int64Tensor([0, 1, 2, 3, 5, 6, 7, 8], [2, 4])] },
  { shape: [2, 3, 4, 8], constants: [floatsOf(2, 4, 4), floatsOf(2, 4, 4)], attributes: { interleaved: int(1) } },
  { shape: [2, 4, 24], constants: [floatsOf(9, 4), floatsOf(9, 4), int64Tensor([0, 1, 2, 3, 5, 6, 7, 8], [2, 4])], attributes: { num_heads: int(3) } },
  { shape: [2, 3, 4, 8], constants: [floatsOf(2, 4, 2), floatsOf(2, 4, 2)], attributes: { rotary_embedding_dim: int(4), interleaved: int(1) } },
  { shape: [2, 4, 24], constants: [floatsOf(2, 4, 2), floatsOf(2, 4, 2)], attributes: { rotary_embedding_dim: int(4), num_heads: int(3) } },
]; // biome-ignore format: a table

export const ofTransformers: readonly Case[] = [
  ...attentions.map((one) => ({ op: 'Attention', opset: 23, ...one })),
  ...rotations.map((one) => ({ op: 'RotaryEmbedding', opset: 23, ...one })),
];
