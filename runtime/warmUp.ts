/**
 * Runs freshly loaded stages on zeros: engines optimise code while it runs, and the first runs of a session are
 * many times slower than the later ones. Nobody should wait for that during a real run. How long they take then is
 * what placements are decided with.
 */
import { byteCount } from '../graph/tensor.ts';
import type { Backend, TensorHandle } from './backend.ts';
import type { Clock } from './clock.ts';
import type { LoadedProgram, LoadedStage } from './loadProgram.ts';
import type { Program } from './lower/program.ts';
import type { TimedStage } from './predict/deviceSpeed.ts';

export interface WarmUpOptions {
  readonly backend: Backend;
  readonly clock: Clock;
  readonly rounds?: number;
  /** No further round starts after so long: a large model is warm after one. */
  readonly maxMs?: number;
}

/** Zeros for a stage; undefined where a type or shape is not known before the run. */
function zeros(
  program: Program,
  { stage }: LoadedStage,
  backend: Backend,
): Map<string, TensorHandle> | undefined {
  const handles = new Map<string, TensorHandle>();
  for (const name of stage.inputs) {
    const type = program.types.get(name);
    if (type?.dims === undefined || type.dataType === 'string') {
      for (const handle of handles.values()) handle.release();
      return undefined;
    }
    const { dataType, dims } = type;
    handles.set(name, backend.upload({ dataType, dims, data: new Uint8Array(byteCount(dataType, dims)) }));
  }
  return handles;
}

/** The shortest time of each stage; stages whose inputs cannot be made up are left out. */
export async function warmUp(loaded: LoadedProgram, options: WarmUpOptions): Promise<TimedStage[]> {
  const { backend, clock, rounds = 3, maxMs = 1500 } = options;
  const start = clock.now();
  const best = new Map<LoadedStage, number>();
  for (let round = 0; round < rounds && (round === 0 || clock.now() - start < maxMs); round++) {
    for (const stage of loaded.stages) {
      const inputs = zeros(loaded.program, stage, backend);
      if (inputs === undefined) continue;
      const before = clock.now();
      const outputs = await stage.session.run(inputs);
      best.set(stage, Math.min(best.get(stage) ?? Number.POSITIVE_INFINITY, clock.now() - before));
      for (const handle of [...inputs.values(), ...outputs.values()]) handle.release();
    }
  }
  return [...best].map(([{ stage }, ms]) => ({ stage, ms }));
}
