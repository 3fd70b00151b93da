/**
 * Reductions over the axis that is divided: every shard reduces its own part, and the partial results, which are
 * small, are combined wherever the result is needed. Written as ordinary nodes, so that lowering knows nothing of it:
 * partial result s is a value that shard s owns alone.
 */
import type { Attribute, Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { intAttribute, intsAttribute, stringAttribute } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import { type Ranges, range } from '../../graph/ranges.ts';
import { float32Tensor, int64Tensor, readIntegers, type Tensor } from '../../graph/tensor.ts';
import type { Sharding } from '../../runtime/lower/program.ts';

interface Reduction {
  /** Reduces one part. */
  readonly opType: 'ReduceSum' | 'ReduceMax' | 'ReduceMin';
  /** Combines the parts. */
  readonly combine: 'Sum' | 'Max' | 'Min';
  readonly axes: readonly number[];
  readonly keepDims: boolean;
  /** Whether the result is divided by the number of elements. */
  readonly mean: boolean;
}

/** The reduction a node is, if it is one that parts can share. */
function reductionOf(graph: Graph, node: Node, shape: readonly number[]): Reduction | undefined {
  const rank = shape.length;
  const spatial = Array.from({ length: rank - 2 }, (_, i) => i + 2);
  const base = { opType: 'ReduceSum', combine: 'Sum', keepDims: true, mean: false } as const;
  if (node.opType === 'GlobalAveragePool' || averagesAll(node, shape))
    return { ...base, axes: spatial, mean: true };
  if (node.opType === 'GlobalMaxPool') return { ...base, opType: 'ReduceMax', combine: 'Max', axes: spatial };
  const kind = reductions[node.opType];
  if (kind === undefined) return undefined;
  const second = graph.initializers.get(node.inputs[1] ?? '');
  const listed = intsAttribute(node, 'axes') ?? (second === undefined ? undefined : readIntegers(second));
  const axes = listed ?? Array.from({ length: rank }, (_, i) => i);
  return {
    ...base,
    ...kind,
    axes: axes.map((axis) => (axis < 0 ? axis + rank : axis)),
    keepDims: intAttribute(node, 'keepdims', 1) === 1,
  };
}

/** An AveragePool whose one window is the whole map. */
function averagesAll(node: Node, shape: readonly number[]): boolean {
  const kernel = intsAttribute(node, 'kernel_shape') ?? [];
  const padded = (intsAttribute(node, 'pads') ?? []).some((pad) => pad !== 0);
  const mode = stringAttribute(node, 'auto_pad', 'NOTSET');
  const covers = kernel.every((length, i) => length === shape[i + 2]);
  return node.opType === 'AveragePool' && covers && !padded && (mode === 'NOTSET' || mode === 'VALID');
}

const reductions: Readonly<Record<string, Partial<Reduction>>> = {
  ReduceSum: {},
  ReduceMean: { mean: true },
  ReduceMax: { opType: 'ReduceMax', combine: 'Max' },
  ReduceMin: { opType: 'ReduceMin', combine: 'Min' },
};

/** What the rewriting adds to the division: partial results, each whole at one shard. */
export interface PartialSums {
  readonly graph: Graph;
  readonly shardings: ReadonlyMap<string, Sharding>;
}

class Rewriter {
  readonly nodes: Node[] = [];
  readonly initializers: Map<string, Tensor>;
  readonly values: Map<string, ValueInfo>;
  readonly shardings = new Map<string, Sharding>();
  readonly #graph: Graph;

  constructor(graph: Graph) {
    this.#graph = graph;
    this.initializers = new Map(graph.initializers);
    this.values = new Map(graph.values);
  }

  node(
    opType: string,
    inputs: readonly string[],
    output: ValueInfo,
    attributes: Record<string, Attribute> = {},
  ): string {
    const { name } = output;
    this.nodes.push({
      name,
      opType,
      domain: '',
      inputs,
      outputs: [name],
      attributes: new Map(Object.entries(attributes)),
    });
    if (!this.#graph.outputs.some((given) => given.name === name)) this.values.set(name, output);
    return name;
  }

  constant(name: string, tensor: Tensor): string {
    this.initializers.set(name, tensor);
    return name;
  }

  result(): PartialSums {
    const { nodes, initializers, values } = this;
    return { graph: { ...this.#graph, nodes, initializers, values }, shardings: this.shardings };
  }
}

/**
 * Rewrites every reduction over the divided axis of its input. `shardings`: the division so far; values reduced
 * along another axis than their own are left alone.
 */
export function partialSums(
  graph: Graph,
  shardings: ReadonlyMap<string, Sharding>,
  numShards: number,
): PartialSums {
  const values = shapedValues(graph);
  const rewriter = new Rewriter(graph);
  for (const node of graph.nodes) {
    const [input = ''] = node.inputs;
    const sharding = shardings.get(input);
    const shape = values.get(input)?.shape ?? [];
    const reduction = sharding === undefined ? undefined : reductionOf(graph, node, shape);
    if (sharding === undefined || reduction === undefined || !reduction.axes.includes(sharding.axis)) {
      rewriter.nodes.push(node);
      continue;
    }
    const { outputShape } = viewNode(graph, values, node);
    const dataType = values.get(input)?.dataType ?? 'float32';
    const [output = ''] = node.outputs;
    const partials = sharding.parts.flatMap((ranges, shard) => {
      const [run, ...more] = ranges;
      if (run === undefined || more.length > 0) return [];
      const name = (suffix: string) => `${output}/${suffix}${shard}`;
      const cut = [...[run[0], run[1]].map((limit) => [limit]), [sharding.axis]].map((limits, i) =>
        rewriter.constant(name(`slice${i}@`), int64Tensor(limits)),
      );
      const partShape = shape.map((dim, axis) => (axis === sharding.axis ? run[1] - run[0] : dim));
      const part = rewriter.node('Slice', [input, ...cut], {
        name: name('part'),
        dataType,
        shape: partShape,
      });
      return [
        reducePart(
          rewriter,
          reduction,
          part,
          { name: name('partial'), dataType, shape: outputShape },
          shard,
          numShards,
        ),
      ];
    });
    combine(rewriter, reduction, partials, { name: output, dataType, shape: outputShape }, shape);
  }
  return rewriter.result();
}

function reducePart(
  rewriter: Rewriter,
  { opType, axes, keepDims }: Reduction,
  part: string,
  output: ValueInfo,
  shard: number,
  numShards: number,
): string {
  const keepdims = { type: 'int', value: keepDims ? 1 : 0 } as const;
  // ReduceSum takes its axes as an input since opset 13, the others as an attribute until 18.
  const asInput = opType === 'ReduceSum';
  const inputs = asInput ? [part, rewriter.constant(`${output.name}/axes`, int64Tensor(axes))] : [part];
  const attributes = asInput ? { keepdims } : { keepdims, axes: { type: 'ints', value: axes } as const };
  rewriter.node(opType, inputs, output, attributes);
  // Any axis serves to say that one shard owns the whole value.
  const axis = output.shape?.findIndex((dim, i) => i > 0 && dim !== 1) ?? -1;
  if (axis > 0) {
    const all = range(0, Number(output.shape?.[axis]));
    const parts = Array.from({ length: numShards }, (_, owner): Ranges => (owner === shard ? all : []));
    rewriter.shardings.set(output.name, { axis, parts });
  }
  return output.name;
}

function combine(
  rewriter: Rewriter,
  { combine: opType, axes, mean }: Reduction,
  partials: readonly string[],
  output: ValueInfo,
  inputShape: readonly number[],
): void {
  if (!mean) {
    rewriter.node(opType, partials, output);
    return;
  }
  const count = axes.reduce((product, axis) => product * (inputShape[axis] ?? 1), 1);
  const sum = rewriter.node(opType, partials, { ...output, name: `${output.name}/sum` });
  const divisor = rewriter.constant(`${output.name}/count`, float32Tensor([], [count]));
  rewriter.node('Div', [sum, divisor], output);
}
