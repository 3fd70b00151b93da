/** A model's own answer and the one of its plan on several devices, for tests that compare the two. */
import { type CompileOptions, compileModel } from '../../compiler/compile.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import type { Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { oneShardEach } from '../../runtime/lower/placements.ts';
import type { Placement } from '../../runtime/lower/program.ts';
import { openPlan, type Plan } from '../../runtime/plan.ts';
import { fileWeights, type WeightSource } from '../../runtime/weights/blob.ts';

type Tensors = Record<string, Tensor>;

export interface Answers {
  readonly expected: Tensors;
  readonly outputs: Tensors;
  readonly plan: Plan;
}

type Options = Omit<CompileOptions, 'name' | 'backend'> & { readonly placement?: Placement };

/** A node without a name, as many exporters write them. */
export function unnamed(
  opType: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, Attribute>> = {},
): Node {
  return { name: '', opType, domain: '', inputs, outputs, attributes: new Map(Object.entries(attributes)) };
}

export function modelBytes(graph: Graph, opset: number): Uint8Array {
  const fields = { irVersion: 8, producer: '', metadata: new Map<string, string>() };
  return saveModel({ ...fields, opsets: new Map([['', opset]]), graph }).bytes;
}

export interface Compiled {
  readonly plan: Plan;
  readonly weights: WeightSource;
}

export async function compiledPlan(
  backend: Backend,
  bytes: Uint8Array,
  options: Omit<CompileOptions, 'name' | 'backend'>,
): Promise<Compiled> {
  const { files } = await compileModel(bytes, { name: 'model', backend, ...options });
  const read = async (path: string) => files.get(path) ?? new Uint8Array();
  const plan = await openPlan(read);
  return {
    plan,
    weights: fileWeights(plan, await Promise.all(plan.file.weights.map(({ path }) => read(path)))),
  };
}

export async function roomAnswer(
  backend: Backend,
  { plan: { model, division }, weights }: Compiled,
  inputs: Tensors,
  placement: Placement,
): Promise<Tensors> {
  const room = await openLocalRoom({
    planOf: () => ({ model, division, openBatch: false, weights, warmUp: false }),
    placement,
    backend,
  });
  const { outputs } = await room.run(inputs);
  await room.close();
  return outputs;
}

export async function wholeAnswer(backend: Backend, bytes: Uint8Array, inputs: Tensors): Promise<Tensors> {
  const session = await backend.createSession(bytes);
  const expected = await runWhole(session, backend, inputs);
  await session.release();
  return expected;
}

export async function planAnswer(
  backend: Backend,
  bytes: Uint8Array,
  inputs: Tensors,
  { placement, ...options }: Options,
): Promise<Omit<Answers, 'expected'>> {
  const compiled = await compiledPlan(backend, bytes, options);
  const placed = placement ?? oneShardEach(options.numShards);
  return { outputs: await roomAnswer(backend, compiled, inputs, placed), plan: compiled.plan };
}

export async function answers(
  backend: Backend,
  bytes: Uint8Array,
  inputs: Tensors,
  options: Options,
): Promise<Answers> {
  const expected = await wholeAnswer(backend, bytes, inputs);
  return { expected, ...(await planAnswer(backend, bytes, inputs, options)) };
}
