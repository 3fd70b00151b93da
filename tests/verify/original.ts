/** A model as it was before it was divided: sample inputs and what it makes of them, computed once for all its plans. */
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { Comparator } from '../../compiler/measure/compare.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import type { ValueInfo } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import type { Tensor } from '../../graph/tensor.ts';
import type { VerifyModel } from './models.ts';

type Tensors = Readonly<Record<string, Tensor>>;

export interface Original {
  readonly bytes: Uint8Array;
  readonly samples: readonly { readonly inputs: Tensors; readonly outputs: Tensors }[];
}

/** An output that hardly changes with the input would show no error either. */
const leastEffect = 1e-2;

/** Throws where the model's output does not depend on its input. */
export async function openOriginal(model: VerifyModel, seed: number): Promise<Original> {
  const bytes = await model.bytes(() => createHeapBackend());
  const backend = await createHeapBackend();
  const session = await backend.createSession(bytes);
  const { inputs, initializers } = loadModel(bytes).graph;
  const random = seededRandom(seed);
  const open = inputs.filter(({ name }) => !initializers.has(name));
  const dimsOf = ({ name, shape }: ValueInfo) =>
    model.shapes[name] ?? (shape ?? []).map((dim) => (typeof dim === 'number' ? dim : 1));
  const samples = [];
  for (let i = 0; i < model.samples; i++) {
    const feeds: Tensors = Object.fromEntries(
      open.map((input) => [
        input.name,
        randomTensor(input.dataType, dimsOf(input), random, model.inputRange),
      ]),
    );
    samples.push({ inputs: feeds, outputs: await runWhole(session, backend, feeds) });
  }
  const zeros: Tensors = Object.fromEntries(
    Object.entries(samples[0]?.inputs ?? {}).map(([name, tensor]) => [
      name,
      { ...tensor, data: new Uint8Array(tensor.data.byteLength) },
    ]),
  );
  const effect = new Comparator();
  effect.add(samples[0]?.outputs ?? {}, await runWhole(session, backend, zeros));
  await session.release();
  const { relativeError } = effect.result();
  if (!(relativeError > leastEffect)) {
    throw new Error(
      `The output of ${model.name} changes by ${relativeError} with its input: it would show no fault.`,
    );
  }
  return { bytes, samples };
}
