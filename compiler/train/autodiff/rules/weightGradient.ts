/**
 * The gradient of a convolution by its weights. Pictures become the channels of one convolution: the input is the
 * data, the output's gradient the kernel, and an axis over the input's channels is carried along, so that nothing
 * but the (smaller) gradient is transposed and no shifted copy of the input is made.
 */
import type { GraphBuilder, Ref } from '../graphBuilder.ts';
import { int, ints } from '../graphBuilder.ts';
import type { Window } from './window.ts';

/** `x` is what the window slides over, `dy` lies at its positions; the result has `shape`, [narrow, wide / group, k...]. */
export function weightGradient(
  b: GraphBuilder,
  x: Ref,
  dy: Ref,
  shape: readonly number[],
  window: Window,
  group: number,
): Ref {
  const [n = 1, wide = 1, ...space] = x.shape;
  const [, narrow = 1, ...positions] = dy.shape;
  const cut = (amounts: readonly number[]): number[] => amounts.map((amount) => Math.min(0, amount));
  const keep = (amounts: readonly number[]): number[] => amounts.map((amount) => Math.max(0, amount));
  const kept = b.pad(x, [0, 0, ...cut(window.before)], [0, 0, ...cut(window.after)]);
  const length = kept.shape.slice(2);
  // Data: [1, group x n, wide / group, space]; the pictures of a group side by side.
  const apart = b.reshape(kept, [n, group, wide / group, ...length]);
  const axes = space.map((_, axis) => axis + 3);
  const data = b.reshape(b.transpose(apart, [1, 0, 2, ...axes]), [1, group * n, wide / group, ...length]);
  // Kernel: [narrow, n, 1, positions].
  const turned = b.transpose(dy, [1, 0, ...positions.map((_, axis) => axis + 2)]);
  const kernel = b.reshape(turned, [narrow, n, 1, ...positions]);
  const result = b.node(
    'Conv',
    [data, kernel],
    {
      // What was a stride between positions is now a step between the kernel's elements, and the reverse.
      dilations: ints([1, ...window.strides]),
      strides: ints([1, ...window.dilations]),
      kernel_shape: ints([1, ...positions]),
      pads: ints([0, ...keep(window.before), 0, ...keep(window.after)]),
      group: int(group),
    },
    [1, narrow, ...shape.slice(1)],
  );
  return b.reshape(result, shape);
}
