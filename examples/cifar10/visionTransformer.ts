/**
 * A small vision transformer for CIFAR-10: two strided convolutions make 64 tokens (Xiao et al. 2021: such a stem learns
 * in fewer epochs than cut patches), then blocks of attention and perceptron, normalised before each (Dosovitskiy et al.
 * 2021). Heads are divided over shards.
 */
import type { Ref } from '../../compiler/train/autodiff/graphBuilder.ts';
import type { Graph } from '../../graph/graph.ts';
import { NetworkBuilder } from './networkBuilder.ts';

export interface TransformerSize {
  readonly depth: number;
  readonly width: number;
  readonly heads: number;
}

const usual: TransformerSize = { depth: 6, width: 128, heads: 4 };

export function visionTransformer(seed: number, { depth, width, heads }: TransformerSize = usual): Graph {
  const b = new NetworkBuilder(seed);
  const stem = b.relu(b.conv(b.relu(b.conv(b.input, width >> 1, 3, 2)), width, 3, 2));
  const tokens = b.transpose(b.reshape(stem, [0, 0, 64]), [0, 2, 1]);
  let x = b.offset(tokens);
  for (let block = 0; block < depth; block++) {
    x = b.add(x, attention(b, b.layerNorm(x), heads));
    x = b.add(x, b.linear(b.gelu(b.linear(b.layerNorm(x), 2 * width)), width));
  }
  b.head(b.mean(b.layerNorm(x), 1));
  return b.graph('cifar10-transformer');
}

function attention(b: NetworkBuilder, x: Ref, heads: number): Ref {
  const width = x.shape[2] ?? 1;
  const each = width / heads;
  /** [n, tokens, width] to [n, heads, tokens, width / heads]. */
  const apart = () => b.transpose(b.reshape(b.linear(x, width), [0, 0, heads, each]), [0, 2, 1, 3]);
  const [queries, keys, values] = [apart(), apart(), apart()];
  const scores = b.scale(b.matMul(queries, b.transpose(keys, [0, 1, 3, 2])), 1 / Math.sqrt(each));
  const mixed = b.transpose(b.matMul(b.softmax(scores), values), [0, 2, 1, 3]);
  return b.linear(b.reshape(mixed, [0, 0, width]), width);
}
