/**
 * What each contraction is fitted to: the dense model's value at the point where its output meets a non-linearity, so
 * that the last contraction of a residual block absorbs the error of the whole block through its shortcut.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import type { Contraction } from '../calibrate/contractions.ts';

export interface Target {
  /** The dense model's value to reach: the contraction's output, or the sum it goes into. */
  readonly value: string;
  /** What the sparse model adds to the contraction's output to make that value; absent where nothing is added. */
  readonly addend: string | undefined;
  readonly error: ErrorKind;
}

/**
 * How a difference counts:
 * - squares: as it is;
 * - rectified: only the positive part of the value is used, so below zero nothing counts;
 * - scores: rows of scores whose softmax decides (its cross entropy counts).
 */
export type ErrorKind = 'squares' | 'rectified' | 'scores';

export function targetsOf(
  graph: Graph,
  contractions: readonly Contraction[],
): ReadonlyMap<Contraction, Target> {
  const readers = new Map<string, Node[]>();
  for (const node of graph.nodes) {
    for (const input of new Set(node.inputs)) readers.set(input, [...(readers.get(input) ?? []), node]);
  }
  const outputs = new Set(graph.outputs.map(({ name }) => name));
  const order = new Map(graph.nodes.map((node, index) => [node.outputs[0] ?? '', index]));
  const onlyReader = (value: string): Node | undefined => {
    const list = readers.get(value) ?? [];
    return list.length === 1 && !outputs.has(value) ? list[0] : undefined;
  };
  const contracted = new Map(contractions.map((contraction) => [contraction.output, contraction.node]));
  return new Map(
    contractions.map((contraction) => {
      let value = contraction.output;
      let addend: string | undefined;
      const next = onlyReader(value);
      if (next?.opType === 'Add' && sameShape(graph, contraction, next)) {
        const other = next.inputs.find((input) => input !== value) ?? '';
        // Of two contractions that are added the later one absorbs the error of both.
        const later = contracted.has(other) && (order.get(other) ?? 0) > (order.get(value) ?? 0);
        if (!graph.initializers.has(other) && other !== '' && !later) {
          value = next.outputs[0] ?? '';
          addend = other;
        }
      }
      const after = readers.get(value) ?? [];
      const every = (opType: string) => after.length > 0 && after.every((node) => node.opType === opType);
      const rectified = !outputs.has(value) && every('Relu');
      const scores = isScores(contraction) && (outputs.has(value) ? after.length === 0 : every('Softmax'));
      const error: ErrorKind = rectified ? 'rectified' : scores ? 'scores' : 'squares';
      return [contraction, { value, addend, error }] as const;
    }),
  );
}

/** [N, classes]; of two numbers or one nothing says that they are compared. */
function isScores({ view, outputChannels }: Contraction): boolean {
  return view.outputShape.length === 2 && outputChannels > 2;
}

function sameShape(graph: Graph, contraction: Contraction, add: Node): boolean {
  const shapes = add.inputs.map((input) => graph.values.get(input)?.shape?.join() ?? '');
  return shapes.every((shape) => shape === contraction.view.outputShape.join());
}
