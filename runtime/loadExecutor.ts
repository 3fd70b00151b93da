/** From a plan and a placement to one device's executor: lowers, builds the sessions, warms them up. */
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from './backend.ts';
import type { Clock } from './clock.ts';
import type { DevicePlacement, DevicePlan } from './deviceApi.ts';
import { type Deliveries, Executor } from './executor.ts';
import { loadProgram } from './loadProgram.ts';
import { lower } from './lower/lower.ts';
import type { RoomProgram } from './lower/program.ts';
import { warmUp } from './warmUp.ts';
import { buildBlob } from './weights/blob.ts';

export interface LoadExecutorOptions {
  readonly self: string;
  readonly backend: Backend;
  readonly clock: Clock;
  readonly deliveries: Deliveries;
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
}

/** Throws PLACEMENT_INVALID or SESSION_FAILED. */
export async function loadExecutor(
  plan: DevicePlan,
  placement: DevicePlacement,
  { self, backend, clock, deliveries, onProgress }: LoadExecutorOptions,
): Promise<{ readonly room: RoomProgram; readonly executor: Executor }> {
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
  if (plan.warmUp !== false) await warmUp(loaded, { backend, clock });
  return { room, executor: new Executor({ loaded, backend, openBatch, clock, deliveries }) };
}
