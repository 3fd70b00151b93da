/** The facts of a normalised graph that operator rules read: concrete shapes and types, and which values are constants. */
import { StarlingError } from '../protocol/errors.ts';
import type { Graph, Node } from './graph.ts';
import type { NodeView } from './ops/rule.ts';
import type { DataType } from './tensor.ts';

export interface ShapedValue {
  readonly dataType: DataType;
  readonly shape: readonly number[];
}

/** Types and concrete shapes of every value of a normalised graph. Throws GRAPH_INVALID where one is missing or open. */
export function shapedValues(graph: Graph): ReadonlyMap<string, ShapedValue> {
  const result = new Map<string, ShapedValue>();
  for (const value of [...graph.values.values(), ...graph.inputs, ...graph.outputs]) {
    const shape = value.shape?.map((dim) => {
      if (typeof dim === 'number') return dim;
      throw new StarlingError(
        'GRAPH_INVALID',
        `Expected concrete shapes, but "${value.name}" has an open one.`,
      );
    });
    if (shape !== undefined) result.set(value.name, { dataType: value.dataType, shape });
  }
  for (const [name, { dataType, dims }] of graph.initializers) result.set(name, { dataType, shape: dims });
  return result;
}

/** `values` is what shapedValues gave for this graph. */
export function viewNode(graph: Graph, values: ReadonlyMap<string, ShapedValue>, node: Node): NodeView {
  const shapeOf = (name: string): readonly number[] => {
    if (name === '') return [];
    const value = values.get(name);
    if (value !== undefined) return value.shape;
    throw new StarlingError('GRAPH_INVALID', `No shape is known for value "${name}" of node "${node.name}".`);
  };
  return {
    node,
    outputShape: shapeOf(node.outputs[0] ?? ''),
    inputShape: (index) => shapeOf(node.inputs[index] ?? ''),
    isConstant: (index) => graph.initializers.has(node.inputs[index] ?? ''),
    constant(index) {
      const tensor = graph.initializers.get(node.inputs[index] ?? '');
      // A plan's graph carries large weights by name only.
      return tensor === undefined || (tensor.data.byteLength === 0 && !tensor.dims.includes(0))
        ? undefined
        : tensor;
    },
  };
}
