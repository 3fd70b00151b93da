/**
 * A batch as tensors: the runs' inputs joined along their first axis, the outputs divided again. Axis 0 must be the
 * open batch axis of the plan; bytes are copied, nothing is computed.
 */
import { StarlingError } from '../../protocol/errors.ts';
import type { RunResult } from '../../workers/api.ts';
import type { RunShape } from './instancePool.ts';

export type Tensors = RunResult['outputs'];
type Tensor = Tensors[string];

/** Items and shape of a run's inputs. Throws INPUT_INVALID where they do not agree on their first axis. */
export function shapeOfInputs(inputs: Tensors): RunShape {
  const names = Object.keys(inputs).sort();
  const items = inputs[names[0] ?? '']?.dims[0] ?? 1;
  for (const name of names) {
    const length = inputs[name]?.dims[0];
    if (length !== items || items < 1) {
      throw new StarlingError(
        'INPUT_INVALID',
        `Expected ${items} items in input "${name}" as in "${names[0]}", got ${length ?? 'a scalar'}; give every input of a run the same batch length.`,
      );
    }
  }
  const key = names.map((name) => `${name}:${inputs[name]?.dataType}[${inputs[name]?.dims.slice(1)}]`);
  return { items, key: key.join() };
}

/** `runs` have the same key; one run is given back as it is. */
export function joinRuns(runs: readonly Tensors[]): Tensors {
  const [first] = runs;
  if (first === undefined || runs.length === 1) return first ?? {};
  return Object.fromEntries(
    Object.keys(first).map((name) => [name, joinTensors(runs.flatMap((run) => run[name] ?? []))]),
  );
}

/** `items` of each run, in the order they were joined. Throws RUN_FAILED when an output lacks the batch axis. */
export function splitOutputs(outputs: Tensors, items: readonly number[]): Tensors[] {
  if (items.length === 1) return [outputs];
  const total = items.reduce((sum, n) => sum + n, 0);
  const starts = items.map((_, i) => items.slice(0, i).reduce((sum, n) => sum + n, 0));
  return items.map((count, i) =>
    Object.fromEntries(
      Object.entries(outputs).map(([name, tensor]) => {
        if (tensor.dims[0] !== total) {
          throw new StarlingError(
            'RUN_FAILED',
            `Expected ${total} items in output "${name}", got [${tensor.dims}]; load the plan with maxBatch 1.`,
          );
        }
        return [name, sliceItems(tensor, starts[i] ?? 0, count)];
      }),
    ),
  );
}

function joinTensors(parts: readonly Tensor[]): Tensor {
  const [first] = parts;
  if (first === undefined) throw new StarlingError('INPUT_INVALID', 'Expected the same inputs in every run.');
  const data = new Uint8Array(parts.reduce((sum, part) => sum + part.data.byteLength, 0));
  let at = 0;
  for (const part of parts) {
    data.set(part.data, at);
    at += part.data.byteLength;
  }
  const items = parts.reduce((sum, part) => sum + (part.dims[0] ?? 0), 0);
  const strings = first.strings === undefined ? {} : { strings: parts.flatMap((part) => part.strings ?? []) };
  return { dataType: first.dataType, dims: [items, ...first.dims.slice(1)], data, ...strings };
}

function sliceItems(tensor: Tensor, start: number, count: number): Tensor {
  const total = tensor.dims[0] ?? 1;
  const each = tensor.data.byteLength / total;
  const perItem = (tensor.strings?.length ?? 0) / total;
  return {
    dataType: tensor.dataType,
    dims: [count, ...tensor.dims.slice(1)],
    // A copy: one caller may transfer its answer away without taking the others' with it.
    data: tensor.data.slice(start * each, (start + count) * each),
    ...(tensor.strings === undefined
      ? {}
      : { strings: tensor.strings.slice(start * perItem, (start + count) * perItem) }),
  };
}
