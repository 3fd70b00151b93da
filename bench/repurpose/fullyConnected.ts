/** Fully connected networks by shape alone: no weight is ever made, so that the largest needs no memory. */

import type { Graph } from '../../graph/graph.ts';
import { fromIndices, type Ranges, range, union } from '../../graph/ranges.ts';
import type { Division } from '../../runtime/lower/program.ts';

/** So few that giving them to every worker costs nothing beside the layers. */
const inputs = 16;

/** `layers` layers from `width` to `width` neurons after one from 16; each but the last with a Relu; one sample. */
export function fullyConnected(width: number, layers: number): Graph {
  const info = (name: string) => ({ name, dataType: 'float32' as const, shape: [1, width] });
  const names = Array.from({ length: layers + 1 }, (_, layer) => layer);
  const outputOf = (layer: number) => (layer === layers ? 'output' : `active${layer}`);
  return {
    name: `fully connected, ${width} wide`,
    inputs: [{ ...info('input'), shape: [1, inputs] }],
    outputs: [info('output')],
    nodes: names.flatMap((layer) => {
      const last = layer === layers;
      const sum = last ? 'output' : `sum${layer}`;
      const gemm = {
        name: `layer${layer}`,
        opType: 'Gemm',
        domain: '',
        inputs: [layer === 0 ? 'input' : outputOf(layer - 1), `weight${layer}`],
        outputs: [sum],
        attributes: new Map(),
      };
      const relu = {
        name: `relu${layer}`,
        opType: 'Relu',
        domain: '',
        inputs: [sum],
        outputs: [outputOf(layer)],
        attributes: new Map(),
      };
      return last ? [gemm] : [gemm, relu];
    }),
    // As in a plan: large weights by name and shape.
    initializers: new Map(
      names.map((layer) => [
        `weight${layer}`,
        {
          dataType: 'float32' as const,
          dims: [layer === 0 ? inputs : width, width],
          data: new Uint8Array(0),
        },
      ]),
    ),
    values: new Map(
      names.flatMap((layer) => [`sum${layer}`, `active${layer}`].map((name) => [name, info(name)] as const)),
    ),
  };
}

/** What divideByChannels gives too, without following every neuron of the largest layers by itself. */
export function denseWorkers(graph: Graph, workers: number): Division {
  const outputs = graph.nodes.flatMap((node) => node.outputs);
  const width = graph.outputs[0]?.shape?.[1];
  const each = (typeof width === 'number' ? width : 0) / workers;
  const parts = Array.from({ length: workers }, (_, shard) => range(shard * each, (shard + 1) * each));
  return { numShards: workers, shardings: new Map(outputs.map((output) => [output, { axis: 1, parts }])) };
}

/**
 * Every worker owns as many neurons of each layer and reads its own and a share `kept` of every other's: what RePurpose
 * leaves of the dependencies between workers, moved next to each other and removed physically. The input is everywhere.
 */
export function thinnedWorkers(graph: Graph, workers: number, kept: number): Division {
  const dense = denseWorkers(graph, workers);
  if (kept === 1) return dense;
  const supports = new Map<string, readonly Ranges[]>();
  for (const { name, opType, inputs } of graph.nodes) {
    const parts = dense.shardings.get(inputs[0] ?? '')?.parts;
    if (opType !== 'Gemm' || parts === undefined) continue;
    supports.set(
      name,
      parts.map((_, reader) =>
        parts.reduce<Ranges>(
          (all, part, owner) => union(all, owner === reader ? part : firstOf(part, kept)),
          [],
        ),
      ),
    );
  }
  return { ...dense, supports };
}

function firstOf(part: Ranges, kept: number): Ranges {
  const [start = 0, end = 0] = part[0] ?? [];
  const count = Math.round(kept * (end - start));
  return count === 0 ? fromIndices([]) : range(start, start + count);
}
