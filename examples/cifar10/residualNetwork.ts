/**
 * The example's own network: nine convolutions, after the ones that win on time to accuracy (DAWNBench), narrowed so that
 * two cores train it in two hours. 1.1 million weights, and few rounds when it is divided: a small plan for the demo.
 */
import type { Graph } from '../../graph/graph.ts';
import { NetworkBuilder } from './networkBuilder.ts';

const usual = [32, 64, 128, 192] as const;

/** `widths`: channels of the stem and of the three stages. */
export function residualNetwork(
  seed: number,
  [stem, first, second, third]: readonly [number, number, number, number] = usual,
): Graph {
  const b = new NetworkBuilder(seed);
  const layer = (x: typeof b.input, channels: number) => b.relu(b.conv(x, channels, 3));
  /** Two convolutions beside a shortcut. */
  const block = (x: typeof b.input) => {
    const channels = x.shape[1] ?? 1;
    return b.relu(b.add(x, b.conv(layer(x, channels), channels, 3)));
  };
  let x = layer(b.input, stem);
  x = block(b.halve(layer(x, first)));
  x = block(b.halve(layer(x, second)));
  x = block(b.halve(layer(x, third)));
  b.head(b.pool(x));
  return b.graph('cifar10-residual');
}
