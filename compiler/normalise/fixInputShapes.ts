/** Gives every graph input a concrete shape: the batch is 1 unless said otherwise, other open lengths must be given. */
import type { Dimension, Model, ValueInfo } from '../../graph/graph.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Pass } from './pass.ts';

/** Throws SHAPE_OPEN with the option to pass, INPUT_INVALID where a given shape does not fit the model. */
export const fixInputShapes: Pass = (model, { shapes }) => {
  const { graph } = model;
  const names = new Set(graph.inputs.map((input) => input.name));
  for (const name of Object.keys(shapes)) {
    if (!names.has(name)) {
      throw new StarlingError(
        'INPUT_INVALID',
        `The model has no input "${name}" to give a shape to; its inputs are ${list(model)}.`,
      );
    }
  }
  // A model may name an input "constructor".
  const given = new Map(Object.entries(shapes));
  const lengths = lengthsByName(graph.inputs, given);
  const inputs = graph.inputs.map((input) => ({
    ...input,
    shape: concreteShape(input, given.get(input.name), lengths),
  }));
  // Shapes that the file gives to other values may name the lengths that are fixed now.
  return { ...model, graph: { ...graph, inputs, values: new Map() } };
};

/** What the given shapes say of the model's named lengths, for other inputs that use the same names. */
function lengthsByName(
  inputs: readonly ValueInfo[],
  shapes: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<string, number> {
  const lengths = new Map<string, number>();
  for (const { name, shape } of inputs) {
    shape?.forEach((dim, i) => {
      const length = shapes.get(name)?.[i];
      if (typeof dim === 'string' && length !== undefined) lengths.set(dim, length);
    });
  }
  return lengths;
}

function concreteShape(
  input: ValueInfo,
  given: readonly number[] | undefined,
  lengths: ReadonlyMap<string, number>,
): readonly number[] {
  const { name, shape } = input;
  if (given !== undefined) {
    const fits =
      given.every((length) => Number.isInteger(length) && length > 0) &&
      (shape === undefined ||
        (shape.length === given.length &&
          shape.every((dim, i) => typeof dim !== 'number' || dim === given[i])));
    if (fits) return given;
    throw new StarlingError(
      'INPUT_INVALID',
      `Input "${name}" of the model is ${print(shape)}, which the given shape ${given.join('x')} does not fit; change only the open lengths.`,
    );
  }
  if (shape === undefined) {
    throw open(name, `has no shape`, '1x3x224x224');
  }
  const missing: string[] = [];
  const concrete = shape.map((dim, i): number => {
    if (typeof dim === 'number') return dim;
    const known = dim === null ? undefined : lengths.get(dim);
    if (known !== undefined) return known;
    if (i === 0) return 1;
    missing.push(dim === null ? `axis ${i}` : `"${dim}"`);
    return 224;
  });
  if (missing.length === 0) return concrete;
  const plural = missing.length > 1 ? 'lengths' : 'length';
  throw open(name, `leaves its ${plural} ${missing.join(' and ')} open`, concrete.join('x'));
}

function open(name: string, problem: string, example: string): StarlingError {
  return new StarlingError(
    'SHAPE_OPEN',
    `Input "${name}" of the model ${problem}; give it one, for example --shape ${name}=${example}.`,
  );
}

function print(shape: readonly Dimension[] | undefined): string {
  return shape === undefined ? 'of no stated shape' : shape.map((dim) => dim ?? '?').join('x');
}

function list(model: Model): string {
  return model.graph.inputs.map((input) => `"${input.name}"`).join(', ');
}
