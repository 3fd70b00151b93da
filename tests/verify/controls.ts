/** Negative controls: a room with one fault must fail `verify`, else `verify` shows nothing. */
import { verifyPlan } from '../../compiler/measure/verify.ts';
import { seededRandom } from '../../graph/random.ts';
import { elementCount, readIntegers } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { lower } from '../../runtime/lower/lower.ts';
import type { RoomProgram, Transfer } from '../../runtime/lower/program.ts';
import {
  dropped,
  type Fault,
  faultyArrival,
  faultySlice,
  faultyWeight,
  swappedFeatures,
} from '../support/faults.ts';
import type { CompiledPlan } from './compilePlan.ts';
import type { MatrixPlan } from './matrix.ts';
import type { VerifyModel } from './models.ts';

export type ControlKind = 'swapped features' | 'dropped exchange' | 'wrong weight part' | 'shifted halo';

/** Two shards, so that every fault is between the same two; and not where the planner may have put all on one. */
export function controlled({ axis, numShards }: Pick<MatrixPlan, 'axis' | 'numShards'>): boolean {
  return numShards === 2 && axis !== 'auto';
}

export function controlsOf({ model, axis }: Pick<MatrixPlan, 'model' | 'axis'>): readonly ControlKind[] {
  const always: readonly ControlKind[] = ['swapped features', 'dropped exchange', 'wrong weight part'];
  return axis === 'rows' && model.halos ? [...always, 'shifted halo'] : always;
}

const placement = [[0], [1]];

export interface ControlInput {
  readonly model: VerifyModel;
  /** For two shards. */
  readonly compiled: CompiledPlan;
  readonly bytes: Uint8Array;
  readonly backend: Backend;
  readonly seed: number;
}

/** The relative error that `verify` finds with the fault. Throws where the fault never happened. */
export async function runControl(kind: ControlKind, input: ControlInput): Promise<number> {
  const { compiled, bytes, backend, model, seed } = input;
  const room = lower(compiled.plan.model.graph, compiled.plan.division, placement);
  const wrong = faults[kind](input, room);
  if (wrong === undefined) throw new Error(`The plan of ${model.name} has nothing for ${kind}.`);
  const { relativeError } = await verifyPlan({
    plan: compiled.plan,
    weights: compiled.weights,
    model: bytes,
    placement,
    samples: model.samples,
    seed,
    backend,
    ...(model.inputRange === undefined ? {} : { inputRange: model.inputRange }),
    ...('upload' in wrong.faulty ? { shardBackend: wrong.faulty } : { weights: wrong.faulty }),
  });
  if (!wrong.fired) throw new Error(`${kind} of ${model.name} never happened.`);
  return relativeError;
}

type MakeFault = (
  input: ControlInput,
  room: RoomProgram,
) => Fault<Backend> | Fault<CompiledPlan['weights']> | undefined;

const faults: { readonly [Kind in ControlKind]: MakeFault } = {
  'swapped features': ({ backend, seed }, room) => {
    const transfer = pick(
      arrivals(room).filter(({ dims }) => (dims[featureAxis(dims)] ?? 0) > 1),
      seed,
    );
    return transfer && faultyArrival(backend, transfer.dims, swappedFeatures(featureAxis(transfer.dims)));
  },
  'dropped exchange': ({ backend, seed }, room) => {
    const transfer = pick(arrivals(room), seed);
    return transfer && faultyArrival(backend, transfer.dims, dropped);
  },
  'wrong weight part': ({ compiled: { plan, weights }, seed }, room) => {
    const parts = [...(room.programs[0]?.weights.values() ?? [])];
    const matrices = parts.filter(
      ({ dataType, dims }) => dataType === 'float32' && dims.length >= 2 && elementCount(dims) >= 64,
    );
    const part = pick(matrices, seed);
    return part && faultyWeight(weights, plan, part.source);
  },
  'shifted halo': ({ backend, seed }, room) => {
    const halos = room.programs.flatMap(({ sends, stages, constants }) => {
      const slices = stages.flatMap(({ nodes }) => nodes).filter(({ opType }) => opType === 'Slice');
      return sends.filter(({ sourceName }) => {
        const start = constants.get(slices.find(({ outputs }) => outputs[0] === sourceName)?.inputs[1] ?? '');
        // A row before is there to be mistaken for it.
        return start !== undefined && (readIntegers(start)[0] ?? 0) > 0;
      });
    });
    const halo = pick(halos, seed);
    return halo && faultySlice(backend, halo.sourceName);
  },
};

/** Float tensors that one device gets from another, unlike all that the host feeds. */
function arrivals(room: RoomProgram): Transfer[] {
  const fed = new Set(room.programs.flatMap(({ feeds }) => feeds.map(({ dims }) => dims.join())));
  return room.programs
    .flatMap(({ receives }) => receives)
    .filter(({ dataType, dims }) => dataType === 'float32' && !fed.has(dims.join()));
}

/** Maps are N x C x H x W; of tokens and rows of scores the features come last. */
function featureAxis(dims: readonly number[]): number {
  return dims.length === 4 ? 1 : dims.length - 1;
}

function pick<T>(list: readonly T[], seed: number): T | undefined {
  return list[Math.floor(seededRandom(seed)() * list.length)];
}
