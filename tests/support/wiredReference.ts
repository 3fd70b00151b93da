/**
 * What a division with wires means, written as one graph: every shard computes every node on all it sees, where it sees
 * its own indices of a wired value as they are and the others as they arrive. Slow, and knows nothing of lowering.
 */
import type { Graph, Model, Node } from '../../graph/graph.ts';
import { toIndices } from '../../graph/ranges.ts';
import { renameReads } from '../../graph/rename.ts';
import { float32Tensor } from '../../graph/tensor.ts';
import type { Division, Sharding } from '../../runtime/lower/program.ts';

/** Every value float32. */
export function wiredReference(model: Model, division: Division): Model {
  const { graph } = model;
  const { numShards, shardings, wires = new Map() } = division;
  const nodes: Node[] = [];
  const initializers = new Map(graph.initializers);
  const push = (opType: string, inputs: readonly string[], output: string) => {
    nodes.push({ name: output, opType, domain: '', inputs, outputs: [output], attributes: new Map() });
    return output;
  };
  const mask = (value: string, { axis, parts }: Sharding, shard: number, kept: 0 | 1) => {
    const shape = (graph.values.get(value)?.shape ?? []).map(Number);
    const name = `mask ${value} ${shard} ${kept}`;
    const own = new Set(toIndices(parts[shard] ?? []));
    const dims = shape.map((dim, i) => (i === axis ? dim : 1));
    const along = Array.from({ length: shape[axis] ?? 0 }, (_, i) => (own.has(i) === (kept === 1) ? 1 : 0));
    initializers.set(name, float32Tensor(dims, along));
    return name;
  };
  /** [shard] value -> its name as that shard sees it. */
  const seen = Array.from({ length: numShards }, () => new Map<string, string>());
  for (const node of graph.nodes) {
    const [output = ''] = node.outputs;
    const sharding = shardings.get(output);
    const base = wires.get(output);
    const baseSharding = base === undefined ? undefined : shardings.get(base);
    const versions = seen.map((names, shard) => {
      const version = `${output} #${shard}`;
      nodes.push({ ...renameReads(node, names), name: version, outputs: [version] });
      return version;
    });
    if (sharding !== undefined) {
      const parts = versions.map((version, shard) =>
        push('Mul', [version, mask(output, sharding, shard, 1)], `${version} own`),
      );
      push('Sum', parts, output);
    } else if (base !== undefined && baseSharding !== undefined) {
      versions.forEach((version, shard) => {
        const own = push('Mul', [base, mask(base, baseSharding, shard, 1)], `${version} own`);
        const foreign = push('Mul', [version, mask(base, baseSharding, shard, 0)], `${version} foreign`);
        seen[shard]?.set(output, push('Add', [own, foreign], `${version} seen`));
      });
    } else versions.forEach((version, shard) => void seen[shard]?.set(output, version));
  }
  for (const { name } of graph.outputs) {
    const first = seen[0]?.get(name);
    if (first !== undefined) push('Identity', [first], name);
  }
  const reference: Graph = { ...graph, nodes, initializers, values: new Map() };
  return { ...model, graph: reference };
}
