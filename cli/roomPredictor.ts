/**
 * A plan, or the model it was made from, as something that predicts: the shards on devices in this process, a whole
 * session beside them. No data and no figures.
 */
import { type LocalRoom, openLocalRoom } from '../compiler/measure/localRoom.ts';
import { runWhole } from '../compiler/measure/verify.ts';
import type { Output, Predict } from '../eval/task.ts';
import { float32Tensor, float32View, type Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import type { Placement } from '../runtime/lower/program.ts';
import type { Plan } from '../runtime/plan.ts';
import type { WeightSource } from '../runtime/weights/blob.ts';

export interface WeightedPlan {
  readonly plan: Plan;
  readonly weights: WeightSource;
}

export interface RoomPredictorOptions {
  readonly given: WeightedPlan;
  readonly placement: Placement;
  readonly backend: Backend;
  /** Makes a plan for inputs of another shape; without it they are refused. */
  readonly compileFor?: ((input: string, dims: readonly number[]) => Promise<WeightedPlan>) | undefined;
}

export class RoomPredictor {
  readonly #options: RoomPredictorOptions;
  /** Of the shape that was asked for last: pictures of one size come together, and rooms are large. */
  #open: { readonly shape: string; readonly room: LocalRoom; readonly input: string } | undefined;

  constructor(options: RoomPredictorOptions) {
    this.#options = options;
  }

  /** Rejects INPUT_INVALID for a shape there is no plan for. */
  readonly predict: Predict = async (input, dims) => {
    const { room, input: name } = await this.#roomFor(dims);
    const { outputs } = await room.run({ [name]: float32Tensor(dims, input) });
    return floatOutputs(outputs);
  };

  /** Of the room that is open: for one run. */
  get cost(): { readonly rounds: number; readonly bytesExchanged: number } {
    const room = this.#open?.room.room;
    return { rounds: room?.rounds ?? 0, bytesExchanged: room?.exchangedBytes ?? 0 };
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    await open?.room.close();
  }

  async #roomFor(dims: readonly number[]) {
    const shape = dims.slice(1).join('x');
    if (this.#open?.shape === shape) return this.#open;
    await this.close();
    const { plan, weights } = await this.#planFor(shape, dims);
    const room = await openLocalRoom({
      planOf: () => ({
        model: plan.model,
        division: plan.division,
        openBatch: plan.file.maxBatch > 1,
        weights,
        warmUp: false,
      }),
      placement: this.#options.placement,
      backend: this.#options.backend,
    });
    this.#open = { shape, room, input: onlyInput(plan) };
    return this.#open;
  }

  async #planFor(shape: string, dims: readonly number[]): Promise<WeightedPlan> {
    const { given, compileFor } = this.#options;
    const name = onlyInput(given.plan);
    const own = given.plan.file.inputs[0]?.shape.slice(1).join('x');
    if (own === shape) return given;
    if (compileFor !== undefined) return compileFor(name, dims);
    throw new StarlingError(
      'INPUT_INVALID',
      `The plan takes pictures of ${own}, got one of ${shape}; give --model, and plans for other sizes are made on the way.`,
    );
  }
}

function onlyInput(plan: Plan): string {
  const [input, ...others] = plan.file.inputs;
  if (input?.dataType === 'float32' && others.length === 0) return input.name;
  throw new StarlingError(
    'INPUT_INVALID',
    'Only a plan with one float32 input can be evaluated on pictures.',
  );
}

function floatOutputs(outputs: Readonly<Record<string, Tensor>>): Output[] {
  return Object.entries(outputs).map(([name, tensor]) => {
    if (tensor.dataType === 'float32') return { name, dims: tensor.dims, data: float32View(tensor) };
    throw new StarlingError('INPUT_INVALID', `Output "${name}" is ${tensor.dataType}; scores are float32.`);
  });
}

/** The undivided model in one session. */
export async function wholePredictor(model: Uint8Array, backend: Backend): Promise<Predict> {
  const session = await backend.createSession(model);
  const [name = ''] = session.inputNames;
  return async (input, dims) =>
    floatOutputs(await runWhole(session, backend, { [name]: float32Tensor(dims, input) }));
}
