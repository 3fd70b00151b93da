/** Random divisions and placements of a graph: any owner for any index is a valid division. */
import fc from 'fast-check';
import type { Graph, Model } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { momentPairs } from '../../graph/ops/statistics/momentPairs.ts';
import { statisticsOf } from '../../graph/ops/statistics/table.ts';
import { seededRandom } from '../../graph/random.ts';
import { covers, fromIndices, type Ranges, range, union } from '../../graph/ranges.ts';
import { float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import { contractedAlong } from '../../runtime/lower/partials.ts';
import type { Division, Placement, Sharding } from '../../runtime/lower/program.ts';

/** Gives every index of some values an owner at random, along any axis but the batch's. */
export function randomDivision(graph: Graph, numShards: number, seed: number): Division {
  const random = seededRandom(seed);
  const shardings = new Map<string, Sharding>();
  for (const { outputs } of graph.nodes) {
    const [name = ''] = outputs;
    const shape = graph.values.get(name)?.shape ?? [];
    const axis = 1 + Math.floor(random() * Math.max(1, shape.length - 1));
    const extent = shape[axis];
    if (typeof extent !== 'number' || extent < 1 || random() < 0.3) continue;
    // Mostly runs, as real divisions have them, and now and then a scatter.
    const scattered = random() < 0.2;
    const owners = Array.from({ length: extent }, (_, i) =>
      Math.floor(scattered ? random() * numShards : (i * numShards) / extent),
    );
    const parts = Array.from({ length: numShards }, (_, shard) =>
      fromIndices(owners.flatMap((owner, i) => (owner === shard ? [i] : []))),
    );
    shardings.set(name, { axis, parts });
  }
  const partials = randomPartials(graph, numShards, random);
  return { numShards, shardings, partials, statistics: randomStatistics(graph, numShards, random) };
}

/** Some results over an axis made in parts, each index of the input by a random shard. */
function randomStatistics(graph: Graph, numShards: number, random: () => number): Map<string, Sharding> {
  const values = shapedValues(graph);
  const statistics = new Map<string, Sharding>();
  const means = new Map([...momentPairs(graph)].map(([mean, variance]) => [variance.name, mean]));
  for (const node of graph.nodes) {
    // A variance is mostly made of the parts of its mean, and then with it.
    const alike = statistics.get(means.get(node.name) ?? '');
    if (alike !== undefined && random() < 0.8) {
      statistics.set(node.name, alike);
      continue;
    }
    const found = statisticsOf(graph, values, node);
    if (found === undefined || random() < 0.3) continue;
    const axis = found.axes[Math.floor(random() * found.axes.length)] ?? 1;
    const length = found.view.inputShape(0)[axis] ?? 0;
    const owners = Array.from({ length }, () => Math.floor(random() * numShards));
    const parts = Array.from({ length: numShards }, (_, shard) =>
      fromIndices(owners.flatMap((owner, i) => (owner === shard ? [i] : []))),
    );
    statistics.set(node.name, { axis, parts });
  }
  return statistics;
}

/** Some contractions summed in parts, each input feature by a random shard. */
function randomPartials(
  graph: Graph,
  numShards: number,
  random: () => number,
): Division['partials'] & object {
  const values = shapedValues(graph);
  const partials = new Map<string, readonly Ranges[]>();
  for (const node of graph.nodes) {
    const along = contractedAlong(graph, values, node);
    if (along === undefined || random() < 0.5) continue;
    const owners = Array.from({ length: along.features }, () => Math.floor(random() * numShards));
    const parts = Array.from({ length: numShards }, (_, shard) =>
      fromIndices(owners.flatMap((owner, i) => (owner === shard ? [i] : []))),
    );
    partials.set(node.name, parts);
  }
  return partials;
}

/** Random sets of input features for every contraction, own ones always among them, and the model they amount to. */
export function randomSupports(
  model: Model,
  division: Division,
  seed: number,
): { division: Division; model: Model } {
  const random = seededRandom(seed);
  const supports = new Map<string, readonly Ranges[]>();
  const initializers = new Map(model.graph.initializers);
  for (const { name, opType, inputs, outputs, attributes } of model.graph.nodes) {
    const [input = '', weight = ''] = inputs;
    const tensor = initializers.get(weight);
    const owners = division.shardings.get(outputs[0] ?? '')?.parts;
    const group = attributes.get('group');
    const dense = opType === 'Gemm' || (opType === 'Conv' && group?.type === 'int' && group.value === 1);
    if (!dense || tensor === undefined || owners === undefined) continue;
    const channels = tensor.dims[1] ?? 0;
    const own = division.shardings.get(input)?.parts;
    const chosen = owners.map((_, shard) => {
      const extra = fromIndices(Array.from({ length: channels }, (_, i) => i).filter(() => random() < 0.4));
      const support = union(own?.[shard] ?? [], extra);
      return support.length > 0 ? support : range(0, 1);
    });
    supports.set(name, chosen);
    initializers.set(weight, masked(tensor, owners, chosen));
  }
  return {
    division: { ...division, supports },
    model: { ...model, graph: { ...model.graph, initializers } },
  };
}

/** A weight [outputs, inputs, ...] with zeros wherever the owner of the output does not read the input. */
function masked(tensor: Tensor, owners: readonly Ranges[], supports: readonly Ranges[]): Tensor {
  const values = float32View(tensor).slice();
  const [outputs = 0, inputs = 0, ...kernel] = tensor.dims;
  const size = kernel.reduce((product, dim) => product * dim, 1);
  for (let row = 0; row < outputs; row++) {
    const shard = owners.findIndex((ranges) => covers(ranges, range(row, row + 1)));
    for (let column = 0; column < inputs; column++) {
      if (covers(supports[shard] ?? [], range(column, column + 1))) continue;
      values.fill(0, (row * inputs + column) * size, (row * inputs + column + 1) * size);
    }
  }
  return float32Tensor(tensor.dims, values);
}

export const placements = (numShards: number): fc.Arbitrary<Placement> =>
  fc
    .array(fc.nat(Math.max(0, numShards - 1)), { minLength: numShards, maxLength: numShards })
    .map((devices) => {
      const placement: number[][] = Array.from({ length: Math.max(...devices) + 1 }, () => []);
      for (const [shard, device] of devices.entries()) placement[device]?.push(shard);
      return placement;
    });
