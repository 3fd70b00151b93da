/**
 * What each contraction is fitted to: the dense model's value at the point where its output meets a non-linearity, so
 * that the last contraction of a residual block absorbs the error of the whole block through its shortcut.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import { float32View } from '../../graph/tensor.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import { positionsPerSample } from '../calibrate/patches.ts';

export interface Target {
  /** The dense model's value to reach: the contraction's output, or the sum it goes into. */
  readonly value: string;
  /** What the sparse model adds to the contraction's output to make that value; absent where nothing is added. */
  readonly addend: string | undefined;
  readonly error: ErrorKind;
  /** Where `rectified`: what lies beyond them is cut off, or nearly. */
  readonly bounds?: Bounds;
}

export interface Bounds {
  readonly low: number;
  readonly high: number;
}

/**
 * How a difference counts:
 * - squares: as it is;
 * - rectified: only what lies between bounds is used, as Relu and Clip do, or nearly so, as a sigmoid does, so beyond them
 *   nothing counts;
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
  /** Whether nothing but a softmax is between a value and the outputs, however it is laid out. */
  const decides = (value: string): boolean => {
    const after = readers.get(value) ?? [];
    if (outputs.has(value)) return after.length === 0;
    return (
      after.length > 0 &&
      after.every(
        ({ opType, outputs: [made = ''] }) => opType === 'Softmax' || (relaid.has(opType) && decides(made)),
      )
    );
  };
  return new Map(
    contractions.map((contraction): readonly [Contraction, Target] => {
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
      const bounds = outputs.has(value)
        ? undefined
        : commonBounds(after, (node) => boundsOf(graph, readers, node));
      const scores = isScores(contraction) && decides(value);
      if (bounds !== undefined) return [contraction, { value, addend, error: 'rectified', bounds }];
      return [contraction, { value, addend, error: scores ? 'scores' : 'squares' }];
    }),
  );
}

/** What all readers cut off; undefined where one of them reads more. */
function commonBounds(
  readers: readonly Node[],
  boundsIn: (node: Node) => Bounds | undefined,
): Bounds | undefined {
  const all = readers.map(boundsIn);
  const [first] = all;
  const same = all.every((other) => other?.low === first?.low && other?.high === first?.high);
  return same ? first : undefined;
}

/**
 * x times its sigmoid falls to its least, -0.28, here; further down it is back between that and 0, so that differences there
 * hardly count.
 */
const swishBounds: Bounds = { low: -1.28, high: Number.POSITIVE_INFINITY };

/** Beyond these a curve has come within a hundredth of its end. */
const flatBeyond: Readonly<Record<string, number>> = { Sigmoid: 5, HardSigmoid: 3, Tanh: 3 };

function boundsOf(
  graph: Graph,
  readers: ReadonlyMap<string, readonly Node[]>,
  { opType, inputs, outputs: [made = ''] }: Node,
): Bounds | undefined {
  const [value = ''] = inputs;
  if (opType === 'Relu') return { low: 0, high: Number.POSITIVE_INFINITY };
  if (opType === 'HardSwish') return { low: -1.5, high: Number.POSITIVE_INFINITY };
  if (opType === 'Mul' && isSwish(readers, inputs)) return swishBounds;
  if (opType === 'Sigmoid') {
    const after = readers.get(made) ?? [];
    const gated = after.filter((node) => node.opType === 'Mul' && node.inputs.includes(value));
    if (gated.length > 0 && gated.length === after.length) return swishBounds;
  }
  const flat = flatBeyond[opType];
  if (flat !== undefined) return { low: -flat, high: flat };
  if (opType !== 'Clip') return undefined;
  const bound = (name: string | undefined, absent: number) => {
    if (name === undefined || name === '') return absent;
    const tensor = graph.initializers.get(name);
    return tensor?.dataType === 'float32' ? float32View(tensor)[0] : undefined;
  };
  const low = bound(inputs[1], Number.NEGATIVE_INFINITY);
  const high = bound(inputs[2], Number.POSITIVE_INFINITY);
  return low === undefined || high === undefined ? undefined : { low, high };
}

/** Whether one of two factors is the sigmoid of the other. */
function isSwish(
  readers: ReadonlyMap<string, readonly Node[]>,
  [a = '', b = '']: readonly string[],
): boolean {
  const squashes = (value: string, squashed: string) =>
    (readers.get(value) ?? []).some(
      ({ opType, outputs }) => opType === 'Sigmoid' && outputs.includes(squashed),
    );
  return squashes(a, b) || squashes(b, a);
}

/** One row of classes for each sample; of two numbers or one nothing says that they are compared. */
function isScores(contraction: Contraction): boolean {
  const { view, outputChannels } = contraction;
  return positionsPerSample(contraction) === view.outputShape[0] && outputChannels > 2;
}

/** Operators that only lay out a sample's scores otherwise. */
const relaid: ReadonlySet<string> = new Set(['Flatten', 'Reshape', 'Squeeze', 'Identity']);

function sameShape(graph: Graph, contraction: Contraction, add: Node): boolean {
  const shapes = add.inputs.map((input) => graph.values.get(input)?.shape?.join() ?? '');
  return shapes.every((shape) => shape === contraction.view.outputShape.join());
}
