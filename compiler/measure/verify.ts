/** Runs a plan on a room in memory against the original model and says how far apart they are. */

import { loadModel } from '../../graph/load.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend, Session, TensorHandle } from '../../runtime/backend.ts';
import { allOnOne, oneShardEach } from '../../runtime/lower/placements.ts';
import type { Placement } from '../../runtime/lower/program.ts';
import { narrows, type Plan, thins } from '../../runtime/plan.ts';
import type { WeightSource } from '../../runtime/weights/blob.ts';
import { Comparator, type Comparison } from './compare.ts';
import { type LocalRoom, openLocalRoom } from './localRoom.ts';

export interface VerifyOptions {
  readonly plan: Plan;
  readonly weights: WeightSource;
  /** The original ONNX file. */
  readonly model: Uint8Array;
  /** Reads data files that the model names beside itself. */
  readonly external?: (path: string) => Uint8Array;
  readonly placement: Placement;
  readonly samples: number;
  readonly seed: number;
  /** Float inputs are uniform between these, as a picture's values are; standard normal without. */
  readonly inputRange?: readonly [low: number, high: number];
  readonly backend: Backend;
  /** Backend of the shards, where it differs from the original's. */
  readonly shardBackend?: Backend;
}

export interface Verification extends Comparison {
  /**
   * Against the same plan with all shards on one device (with one on each where that is the placement); only where the
   * plan is another function than the model, which every placement must compute alike.
   */
  readonly amongPlacements?: Comparison;
  readonly rounds: number;
  /** Tensor bytes that crossed between devices in one run, without inputs and outputs. */
  readonly bytesExchanged: number;
  readonly macsPerShard: readonly number[];
  readonly weightBytesPerShard: readonly number[];
  /** Multiply-accumulates that each device of the placement executes. */
  readonly macsPerDevice: readonly number[];
}

/** Runs a whole model on named inputs. */
export async function runWhole(
  session: Session,
  backend: Backend,
  inputs: Readonly<Record<string, Tensor>>,
): Promise<Record<string, Tensor>> {
  const handles = new Map<string, TensorHandle>();
  for (const [name, tensor] of Object.entries(inputs)) handles.set(name, backend.upload(tensor));
  const outputs = await session.run(handles);
  const result: Record<string, Tensor> = {};
  for (const [name, handle] of outputs) result[name] = await handle.read();
  for (const handle of [...handles.values(), ...outputs.values()]) handle.release();
  return result;
}

export async function verifyPlan(options: VerifyOptions): Promise<Verification> {
  const { plan, backend, placement, samples } = options;
  const original = loadModel(options.model, options.external);
  const missing = original.graph.outputs.find(
    ({ name }) => !plan.file.outputs.some((output) => output.name === name),
  );
  if (missing !== undefined) {
    throw new StarlingError(
      'INPUT_INVALID',
      `The model's output "${missing.name}" is not in the plan; give the model that the plan was compiled from.`,
    );
  }
  const converted = original.graph.inputs.find(({ name, dataType }) =>
    plan.file.inputs.some((input) => input.name === name && input.dataType !== dataType),
  );
  if (converted !== undefined) {
    throw new StarlingError(
      'INPUT_INVALID',
      `The plan takes pixels for "${converted.name}" and the model ${converted.dataType}; compile it without --pixels to verify it.`,
    );
  }
  const openRoom = (where: Placement): Promise<LocalRoom> =>
    openLocalRoom({
      planOf: () => ({
        model: plan.model,
        division: plan.division,
        openBatch: plan.file.maxBatch > 1,
        weights: options.weights,
        warmUp: false,
      }),
      placement: where,
      backend: options.shardBackend ?? backend,
      random: seededRandom(options.seed + 1),
    });
  const session = await backend.createSession(options.model);
  const room = await openRoom(placement);
  const exact = !thins(plan.division) && !narrows(plan.division);
  const other = exact ? undefined : await openRoom(otherPlacement(placement, plan.file.numShards));
  const comparator = new Comparator();
  const amongPlacements = new Comparator();
  const random = seededRandom(options.seed);
  try {
    for (let sample = 0; sample < samples; sample++) {
      const inputs = Object.fromEntries(
        plan.file.inputs.map(({ name, dataType, shape }) => [
          name,
          randomTensor(dataType, shape, random, options.inputRange),
        ]),
      );
      const expected = await runWhole(session, backend, inputs);
      const { outputs } = await room.run(inputs);
      comparator.add(expected, outputs);
      if (other !== undefined) amongPlacements.add((await other.run(inputs)).outputs, outputs);
    }
  } finally {
    await room.close();
    await other?.close();
    await session.release();
  }
  return {
    ...comparator.result(),
    ...(exact ? {} : { amongPlacements: amongPlacements.result() }),
    rounds: room.room.rounds,
    bytesExchanged: room.room.exchangedBytes,
    macsPerShard: plan.file.report.macsPerShard,
    weightBytesPerShard: plan.file.report.weightBytesPerShard,
    macsPerDevice: room.room.programs.map(({ macs }) => macs),
  };
}

/** All shards on one device, or one on each where they are all on one already. */
function otherPlacement(placement: Placement, numShards: number): Placement {
  const together = placement.some((shards) => shards.length === numShards);
  return together ? oneShardEach(numShards) : allOnOne(numShards);
}
