/** What a run of a finished plan is predicted to take, beside the undivided model on one device. */
import type { Graph } from '../../graph/graph.ts';
import type { DivisionAxis } from '../../protocol/compileChoices.ts';
import { lower } from '../../runtime/lower/lower.ts';
import type { RoomProgram } from '../../runtime/lower/program.ts';
import { type RoomCost, simulate } from '../../runtime/predict/simulate.ts';

export type PredictedMs = Readonly<Record<string, number>>;

/** `compared`: what choosing the division has predicted already. */
export function planCosts(
  undivided: Graph,
  onePerDevice: RoomProgram,
  axis: DivisionAxis,
  cost: RoomCost,
  compared: PredictedMs | undefined,
): PredictedMs {
  const alone = lower(undivided, { numShards: 1, shardings: new Map() }, [[0]]);
  const one = compared?.['one'] ?? simulate(alone, cost).totalMs;
  return { one, ...compared, [axis]: simulate(onePerDevice, cost).totalMs };
}
