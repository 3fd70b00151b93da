/** The lengths that a model's inputs leave open, each asked for once, and the shapes that follow. Pure. */
import type { ValueInfo } from '../../graph/graph.ts';

export interface OpenLength {
  readonly input: string;
  readonly axis: number;
  /** The model's own name of it, which other inputs may share; null where it has none. */
  readonly symbol: string | null;
  readonly label: string;
  readonly proposal: number;
}

/** Inputs without any shape are taken for pictures, 1 x 3 x height x width. */
export function openLengths(inputs: readonly ValueInfo[]): OpenLength[] {
  const asked = new Set<string>();
  return inputs.flatMap(({ name, shape }) =>
    (shape ?? [null, null, null, null]).flatMap((dim, axis) => {
      if (typeof dim === 'number' || (dim !== null && asked.has(dim))) return [];
      if (dim !== null) asked.add(dim);
      const label = `Length of “${name}” along axis ${axis}${dim === null ? '' : ` (${dim})`}`;
      const proposal = axis === 0 ? 1 : shape === undefined && axis === 1 ? 3 : 224;
      return [{ input: name, axis, symbol: dim, label, proposal }];
    }),
  );
}

/** Whole shapes of the inputs that had open lengths. */
export function shapesOf(
  inputs: readonly ValueInfo[],
  given: readonly (OpenLength & { readonly value: number })[],
): Record<string, readonly number[]> {
  const open = inputs.filter(({ shape }) => shape?.every((dim) => typeof dim === 'number') !== true);
  return Object.fromEntries(
    open.map(({ name, shape }) => {
      const lengths = (shape ?? [null, null, null, null]).map((dim, axis) => {
        if (typeof dim === 'number') return dim;
        const answer =
          dim === null
            ? given.find((one) => one.input === name && one.axis === axis)
            : given.find(({ symbol }) => symbol === dim);
        return answer?.value ?? 1;
      });
      return [name, lengths];
    }),
  );
}
