/** Attributes of what transformers are made of (opset 23). */
import type { Node } from '../graph.ts';
import { flag, float, int, optionalFloat } from './read.ts';

export const attentionAttributes = (node: Node) => ({
  isCausal: flag(node, 'is_causal', false),
  /** Where the inputs are [batch, tokens, heads * length]; else their shapes say it. */
  kvNumHeads: int(node, 'kv_num_heads', 0),
  qNumHeads: int(node, 'q_num_heads', 0),
  /** Undefined: one over the root of a head's length. */
  scale: optionalFloat(node, 'scale'),
  /** 0 is none. */
  softcap: float(node, 'softcap', 0),
});

export const rotaryEmbeddingAttributes = (node: Node) => ({
  interleaved: flag(node, 'interleaved', false),
  numHeads: int(node, 'num_heads', 0),
  /** How much of a head is turned; 0 is all. */
  rotaryEmbeddingDim: int(node, 'rotary_embedding_dim', 0),
});
