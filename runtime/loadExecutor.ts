/** From a plan and a placement to one device's executor: lowers, builds the sessions, warms them up. */
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from './backend.ts';
import type { Clock } from './clock.ts';
import type { DevicePlacement, DevicePlan } from './deviceApi.ts';
import { type Deliveries, Executor } from './executor.ts';
import { loadProgram } from './loadProgram.ts';
import { lower } from './lower/lower.ts';
import type { RoomProgram } from './lower/program.ts';
import { speedOfStages } from './predict/deviceSpeed.ts';
import { warmUp } from './warmUp.ts';
import { buildBlob } from './weights/blob.ts';

export interface LoadExecutorOptions {
  readonly self: string;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly deliveries: Deliveries;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

export interface LoadedExecutor {
  readonly room: RoomProgram;
  readonly executor: Executor;
  /** As the stages were warmed up, relative to the reference device; null where that was left out. */
  readonly speed: number | null;
}

/** Throws PLACEMENT_INVALID or SESSION_FAILED. */
export async function loadExecutor(
  plan: DevicePlan,
  placement: DevicePlacement,
  { self, backend, clock, deliveries, onProgress }: LoadExecutorOptions,
): Promise<LoadedExecutor> {
  const room = lower(plan.model.graph, plan.division, placement.shards);
  const program = room.programs[placement.devices.indexOf(self)];
  if (program === undefined) {
    throw new StarlingError(
      'PLACEMENT_INVALID',
      `Device "${self}" is not in the placement of epoch ${placement.epoch}.`,
    );
  }
  const { model, openBatch } = plan;
  const blob = buildBlob(program, model, plan.weights);
  const loaded = await loadProgram(program, blob, {
    model,
    backend,
    openBatch,
    ...(onProgress === undefined ? {} : { onProgress }),
  });
  const timed = plan.warmUp === false ? [] : await warmUp(loaded, { backend, clock });
  const executor = new Executor({ loaded, backend, openBatch, clock, deliveries });
  return { room, executor, speed: speedOfStages(program, timed) };
}
