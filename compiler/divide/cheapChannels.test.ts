/** Partial sums and values held whole are chosen where they save bytes or rounds, and only there. */

import { describe, expect, test } from 'vitest';
import type { Graph, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Division } from '../../runtime/lower/program.ts';
import { localLink, referenceDevice } from '../../runtime/predict/costModel.ts';
import { simulate } from '../../runtime/predict/simulate.ts';
import { cheapChannels } from './cheapChannels.ts';
import { divideByChannels } from './divideChannels.ts';
import { divisionMs } from './divisionCost.ts';

const cost = { devices: [referenceDevice], link: localLink, host: 0 };

interface Layer {
  readonly opType: 'Conv' | 'Relu' | 'Add' | 'GlobalAveragePool' | 'Mul';
  readonly inputs: readonly string[];
  readonly output: string;
  readonly dims: readonly number[];
  readonly weight?: readonly number[];
}

/** A graph of maps whose convolutions are 1 x 1, so that shapes are plain. */
function network(input: readonly number[], layers: readonly Layer[]): Graph {
  const initializers = new Map<string, Tensor>();
  const nodes = layers.map(({ opType, inputs, output, weight }): Node => {
    if (weight !== undefined)
      initializers.set(`${output}.w`, randomTensor('float32', weight, seededRandom(1)));
    const all = weight === undefined ? inputs : [...inputs, `${output}.w`];
    return { name: output, opType, domain: '', inputs: all, outputs: [output], attributes: new Map() };
  });
  const info = (name: string, shape: readonly number[]) => ({ name, dataType: 'float32' as const, shape });
  const last = layers.at(-1);
  return {
    name: 'network',
    inputs: [info('x', input)],
    outputs: [info(last?.output ?? '', last?.dims ?? [])],
    nodes,
    initializers,
    values: new Map(layers.slice(0, -1).map(({ output, dims }) => [output, info(output, dims)])),
  };
}

function conv(input: string, output: string, channels: number, from: number, side: number): Layer {
  return {
    opType: 'Conv',
    inputs: [input],
    output,
    dims: [1, channels, side, side],
    weight: [channels, from, 1, 1],
  };
}

function relu(input: string, output: string, channels: number, side: number): Layer {
  return { opType: 'Relu', inputs: [input], output, dims: [1, channels, side, side] };
}

function played(graph: Graph, division: Division) {
  const placement = oneShardEach(division.numShards);
  const room = lower(graph, division, placement);
  return { room, ms: simulate(room, cost).totalMs };
}

const shards = [2, 3, 4];

describe.each(shards)('over %d shards', (numShards) => {
  test('a head smaller than its input sends partial sums', () => {
    const graph = network(
      [1, 8, 12, 12],
      [conv('x', 'a', 96, 8, 12), relu('a', 'b', 96, 12), conv('b', 'y', 8, 96, 12)],
    );
    const { division } = cheapChannels(graph, numShards, cost, true);
    expect([...(division.partials?.keys() ?? [])]).toEqual(['y']);
    const { room } = played(graph, division);
    expect(room.rounds).toBe(1);
    // Each shard sends every other its summand of that one's channels.
    expect(room.exchangedBytes).toBe((numShards - 1) * 8 * 144 * 4);
    expect(new Set(room.programs.map(({ macs }) => macs)).size).toBe(1);
  });

  test('a head larger than its input sends features', () => {
    const graph = network(
      [1, 8, 12, 12],
      [conv('x', 'a', 12, 8, 12), relu('a', 'b', 12, 12), conv('b', 'y', 96, 12, 12)],
    );
    const { division } = cheapChannels(graph, numShards, cost, true);
    expect(division.partials).toBeUndefined();
  });

  test('squeeze-and-excitation takes one round', () => {
    const channels = 96;
    const graph = network(
      [1, 8, 10, 10],
      [
        conv('x', 'a', channels, 8, 10),
        relu('a', 'b', channels, 10),
        { opType: 'GlobalAveragePool', inputs: ['b'], output: 'p', dims: [1, channels, 1, 1] },
        conv('p', 's', 12, channels, 1),
        relu('s', 't', 12, 1),
        conv('t', 'e', channels, 12, 1),
        { opType: 'Mul', inputs: ['b', 'e'], output: 'y', dims: [1, channels, 10, 10] },
      ],
    );
    const plain = played(graph, divideByChannels(graph, numShards)).room;
    const { division } = cheapChannels(graph, numShards, cost, true);
    const { room } = played(graph, division);
    expect(plain.rounds).toBe(2);
    expect(room.rounds).toBe(1);
  });

  test('what is chosen is never played slower than the plain division, and the estimate ranks like the play', () => {
    const layers = [1, 2, 3, 4].flatMap((block): Layer[] => {
      const [before, own] = [block === 1 ? 'x' : `z${block - 1}`, (name: string) => `${name}${block}`];
      return [
        conv(before, own('a'), 24, 48, 14),
        relu(own('a'), own('b'), 24, 14),
        conv(own('b'), own('c'), 48, 24, 14),
        { opType: 'Add', inputs: [before, own('c')], output: own('z'), dims: [1, 48, 14, 14] },
      ];
    });
    const graph = network([1, 48, 14, 14], layers);
    const plain = divideByChannels(graph, numShards);
    const { division } = cheapChannels(graph, numShards, cost, true);
    expect(played(graph, division).ms).toBeLessThanOrEqual(played(graph, plain).ms);
    const placement = oneShardEach(numShards);
    const estimate = (one: Division) => divisionMs(graph, one, placement, cost);
    expect(estimate(division)).toBeLessThanOrEqual(estimate(plain));
    if (numShards === 2)
      expect(played(graph, division).room.rounds).toBeLessThan(played(graph, plain).room.rounds);
  });
});

test('one device with all shards runs the graph as it stands', () => {
  const graph = network(
    [1, 8, 12, 12],
    [conv('x', 'a', 96, 8, 12), relu('a', 'b', 96, 12), conv('b', 'y', 8, 96, 12)],
  );
  const { division } = cheapChannels(graph, 3, cost, true);
  expect(division.partials?.size).toBe(1);
  const [program] = lower(graph, division, [[0, 1, 2]]).programs;
  expect(program?.stages.flatMap(({ nodes }) => nodes.map(({ opType }) => opType))).toEqual([
    'Conv',
    'Relu',
    'Conv',
  ]);
  // Two shards of three on one device sum together: one convolution each.
  const [two] = lower(graph, division, [[0, 1], [2]]).programs;
  expect(two?.stages.flatMap(({ nodes }) => nodes).filter(({ opType }) => opType === 'Conv')).toHaveLength(2);
});
