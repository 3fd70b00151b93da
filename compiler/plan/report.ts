/** What a plan costs: multiply-accumulates and weights of each shard, what crosses between them, and what is not divided. */

import { shapedValues } from '../../graph/nodeView.ts';
import { graphMacs } from '../../graph/ops/macs.ts';
import { byteCount, tensorBytes } from '../../graph/tensor.ts';
import type { PlanReport } from '../../protocol/plan.ts';
import { lower } from '../../runtime/lower/lower.ts';
import { allOnOne } from '../../runtime/lower/placements.ts';
import type { Feed, RoomProgram } from '../../runtime/lower/program.ts';
import { predictPeak } from '../../runtime/predict/memory.ts';
import { describeExchanges } from './exchanges.ts';
import { describeReplicated, type ReplicatedContext } from './replicated.ts';

/** `onePerDevice`: lowered with one shard on each device. */
export function describePlan(context: ReplicatedContext, onePerDevice: RoomProgram): PlanReport {
  const { graph } = context;
  const heapOf = (room: RoomProgram) => room.programs.map((program) => predictPeak(program).heapBytes);
  const others = onePerDevice.programs.slice(1);
  const bytesOf = (ends: readonly Pick<Feed, 'dataType' | 'dims'>[]) =>
    ends.reduce((sum, end) => sum + tensorBytes(end), 0);
  const [heapBytes = 0] = heapOf(lower(graph, context.division, allOnOne(context.division.numShards)));
  return {
    macs: graphMacs(graph),
    weightBytes: [...graph.initializers.values()].reduce((sum, { data }) => sum + data.byteLength, 0),
    macsPerShard: onePerDevice.programs.map((program) => program.macs),
    weightBytesPerShard: onePerDevice.programs.map(({ weights }) =>
      [...weights.values()].reduce((sum, { dataType, dims }) => sum + byteCount(dataType, dims), 0),
    ),
    heapBytes,
    heapBytesPerShard: heapOf(onePerDevice),
    rounds: onePerDevice.rounds,
    exchangedBytes: onePerDevice.exchangedBytes,
    inputBytes: bytesOf(others.flatMap(({ feeds }) => feeds)),
    outputBytes: bytesOf(others.flatMap(({ results }) => results)),
    exchanges: [...describeExchanges(shapedValues(graph), onePerDevice)],
    replicated: describeReplicated(context),
  };
}
