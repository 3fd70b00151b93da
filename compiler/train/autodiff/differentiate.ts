/**
 * Reverse-mode differentiation of a graph: the same graph with the gradients of a scalar as further outputs, in
 * standard operators. It chooses no loss and changes no weight.
 */
import type { Graph, Node } from '../../../graph/graph.ts';
import { type ShapedValue, shapedValues } from '../../../graph/nodeView.ts';
import type { DataType } from '../../../graph/tensor.ts';
import { elementCount } from '../../../graph/tensor.ts';
import { StarlingError } from '../../../protocol/errors.ts';
import { type NodeContext, noGradient } from './gradientRule.ts';
import { GraphBuilder, type Ref } from './graphBuilder.ts';
import { gradientRule, isDifferentiable } from './rules/rules.ts';

export interface Differentiated {
  /** The graph's outputs are those it had, then one gradient per value of `wrt` that has one. */
  readonly graph: Graph;
  /** Value -> the output that is its gradient, of the same shape. A value that the scalar does not depend on has none. */
  readonly gradients: ReadonlyMap<string, string>;
}

/**
 * `scalar` names a float32 value of one element; `wrt` initializers or inputs. The graph has concrete shapes and
 * opset 17. Throws MODEL_UNSUPPORTED for an operator on the way that has no gradient rule, or not in this form.
 */
export function differentiate(graph: Graph, scalar: string, wrt: readonly string[]): Differentiated {
  const shapes = shapedValues(graph);
  const builder = new GraphBuilder([...shapes.keys(), ...namesOf(graph)], 'gradient');
  const forward = new Forward(graph, shapes, builder);
  const dependent = dependents(graph.nodes, wrt);
  if (elementCount(forward.ref(scalar).shape) !== 1) {
    throw new StarlingError('GRAPH_INVALID', `"${scalar}" is expected to hold one element.`);
  }
  const contributions = new Map<string, Ref[]>();
  if (dependent.has(scalar)) {
    contributions.set(scalar, [builder.expand(builder.scalar(1), forward.ref(scalar).shape)]);
  }
  const total = (value: string): Ref | undefined => {
    const list = contributions.get(value) ?? [];
    const [first, ...rest] = list;
    const sum = first === undefined ? undefined : rest.reduce((a, c) => builder.add(a, c), first);
    contributions.set(value, sum === undefined ? [] : [sum]);
    return sum;
  };
  for (const node of graph.nodes.toReversed()) {
    const gradient = total(node.outputs[0] ?? '');
    assertOneGradient(node, contributions);
    if (gradient === undefined) continue;
    if (!isDifferentiable(node.opType) || node.domain !== '')
      throw noGradient(node, 'there is no gradient rule for this operator');
    const rule = gradientRule(node.opType)(forward.context(node), gradient);
    for (const [i, input] of node.inputs.entries()) {
      if (input === '' || !dependent.has(input)) continue;
      const make = rule[i];
      if (make == null) throw noGradient(node, `its input ${i} ("${input}") has no gradient`);
      contributions.set(input, [...(contributions.get(input) ?? []), make()]);
    }
  }
  const gradients = new Map<string, string>();
  for (const value of wrt) {
    const gradient = total(value);
    if (gradient !== undefined) gradients.set(value, builder.unary('Identity', gradient).name);
  }
  const outputs = [...gradients].map(([value, name]) => ({
    name,
    dataType: 'float32' as const,
    shape: forward.ref(value).shape,
  }));
  const values = new Map([...graph.values, ...builder.values]);
  for (const { name } of outputs) values.delete(name);
  return {
    graph: {
      ...graph,
      outputs: [...graph.outputs, ...outputs],
      nodes: [...forward.nodes(), ...builder.nodes],
      initializers: new Map([...graph.initializers, ...builder.constants]),
      values,
    },
    gradients,
  };
}

function namesOf(graph: Graph): string[] {
  return graph.nodes.flatMap((node) => [node.name, ...node.outputs]);
}

/** Everything that changes with the given values. */
function dependents(nodes: readonly Node[], sources: readonly string[]): ReadonlySet<string> {
  const result = new Set(sources);
  for (const node of nodes) {
    if (node.inputs.some((input) => result.has(input))) for (const output of node.outputs) result.add(output);
  }
  return result;
}

function assertOneGradient(node: Node, contributions: ReadonlyMap<string, readonly Ref[]>): void {
  const further = node.outputs.slice(1).find((output) => (contributions.get(output)?.length ?? 0) > 0);
  if (further !== undefined)
    throw noGradient(node, `the loss depends on its further output "${further}", which has no gradient here`);
}

/** The forward pass: shapes of its values, and nodes that were asked for further outputs. */
class Forward {
  readonly #graph: Graph;
  readonly #shapes: ReadonlyMap<string, ShapedValue>;
  readonly #builder: GraphBuilder;
  readonly #further = new Map<Node, string[]>();

  constructor(graph: Graph, shapes: ReadonlyMap<string, ShapedValue>, builder: GraphBuilder) {
    this.#graph = graph;
    this.#shapes = shapes;
    this.#builder = builder;
  }

  ref(name: string): Ref {
    const value = this.#shapes.get(name);
    if (value !== undefined) return { name, shape: value.shape };
    throw new StarlingError('GRAPH_INVALID', `No shape is known for value "${name}".`);
  }

  context(node: Node): NodeContext {
    const has = (index: number): boolean => (node.inputs[index] ?? '') !== '';
    return {
      node,
      builder: this.#builder,
      output: this.ref(node.outputs[0] ?? ''),
      has,
      input: (index) => {
        if (has(index)) return this.ref(node.inputs[index] ?? '');
        throw new StarlingError(
          'GRAPH_INVALID',
          `Node "${node.name}" (${node.opType}) has no input ${index}.`,
        );
      },
      constant: (index) => this.#graph.initializers.get(node.inputs[index] ?? ''),
      furtherOutput: (index, shape, dataType = 'float32') => this.#addOutput(node, index, shape, dataType),
    };
  }

  nodes(): readonly Node[] {
    return this.#graph.nodes.map((node) => {
      const outputs = this.#further.get(node);
      return outputs === undefined ? node : { ...node, outputs };
    });
  }

  #addOutput(node: Node, index: number, shape: readonly number[], dataType: DataType): Ref {
    const outputs = this.#further.get(node) ?? [...node.outputs];
    while (outputs.length < index) outputs.push('');
    const existing = outputs[index] ?? '';
    const name = existing === '' ? this.#builder.freshName(`${node.opType}_output`) : existing;
    outputs[index] = name;
    this.#further.set(node, outputs);
    if (existing === '') this.#builder.values.set(name, { name, dataType, shape });
    return { name, shape };
  }
}
