/** A graph whose contractions read, beside a value, combinations of its channels; their weights for them are 0. */
import type { Attribute, Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { valuesRead } from '../../graph/sort.ts';
import { elementCount, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import type { Contraction } from '../calibrate/contractions.ts';
import type { ProjectedValue } from './projectable.ts';

/** Of a value: the node that combines its channels, and what that makes. */
export function projectionNames(value: string): { readonly node: string; readonly output: string } {
  return { node: `${value}/project`, output: `${value}/projection` };
}

/** `rows` of coefficients of all channels, in the order of the projections. */
export interface Combined {
  readonly projected: ProjectedValue;
  readonly rows: readonly Float64Array[];
}

export function insertProjections(graph: Graph, list: readonly Combined[]): Graph {
  const shapes = shapedValues(graph);
  const initializers = new Map<string, Tensor>(graph.initializers);
  const values = new Map<string, ValueInfo>(graph.values);
  const before = new Map<string, readonly Node[]>();
  const rewired = new Map<string, readonly string[]>();
  for (const { projected, rows } of list) {
    const { value, axis, channels, contractions } = projected;
    const { node, output } = projectionNames(value);
    const shape = shapes.get(value)?.shape ?? [];
    const joined = `${value}/joined`;
    const isPicture = contractions[0].node.opType === 'Conv';
    const weight = `${value}/projection weight`;
    initializers.set(weight, projectionWeight(rows, channels, isPicture));
    const withLength = (name: string, length: number): ValueInfo => ({
      name,
      dataType: 'float32',
      shape: shape.map((old, i) => (i === axis ? length : old)),
    });
    values.set(output, withLength(output, rows.length));
    values.set(joined, withLength(joined, channels + rows.length));
    const added = [
      madeNode(node, isPicture ? 'Conv' : 'MatMul', [value, weight], output),
      madeNode(`${value}/join`, 'Concat', [value, output], joined, { axis: { type: 'int', value: axis } }),
    ];
    for (const contraction of contractions) {
      const name = `${contraction.weight}/joined for ${contraction.node.name}`;
      initializers.set(name, widened(graph, contraction, rows.length));
      rewired.set(contraction.node.name, [joined, name, ...contraction.node.inputs.slice(2)]);
    }
    const readers = new Set(contractions.map((contraction) => contraction.node));
    const first = graph.nodes.find((other) => readers.has(other));
    if (first !== undefined) before.set(first.name, added);
  }
  const nodes = graph.nodes.flatMap((node) => {
    const inputs = rewired.get(node.name);
    return [...(before.get(node.name) ?? []), inputs === undefined ? node : { ...node, inputs }];
  });
  const read = new Set([...nodes.flatMap(valuesRead), ...graph.outputs.map(({ name }) => name)]);
  return {
    ...graph,
    nodes,
    values,
    initializers: new Map([...initializers].filter(([name]) => read.has(name))),
  };
}

function madeNode(
  name: string,
  opType: string,
  inputs: readonly string[],
  output: string,
  attributes: Readonly<Record<string, Attribute>> = {},
): Node {
  return {
    name,
    opType,
    domain: '',
    inputs,
    outputs: [output],
    attributes: new Map(Object.entries(attributes)),
  };
}

/** [rows, channels, 1, 1] of a convolution, [channels, rows] of a product. */
function projectionWeight(rows: readonly Float64Array[], channels: number, isPicture: boolean): Tensor {
  if (isPicture)
    return float32Tensor(
      [rows.length, channels, 1, 1],
      rows.flatMap((row) => [...row]),
    );
  const values = new Float32Array(channels * rows.length);
  for (const [r, row] of rows.entries())
    for (const [channel, value] of row.entries()) values[channel * rows.length + r] = value;
  return float32Tensor([channels, rows.length], values);
}

/** The contraction's weight with so many more input channels, which count for nothing. */
function widened(graph: Graph, { weight, transposed, node }: Contraction, more: number): Tensor {
  const tensor = graph.initializers.get(weight);
  if (tensor === undefined) throw new TypeError(`${node.name} has no constant weight ${weight}.`);
  const { dims } = tensor;
  const axis = transposed ? 0 : 1;
  const old = float32View(tensor);
  const outer = elementCount(dims.slice(0, axis));
  const inner = elementCount(dims.slice(axis));
  const wide = inner + more * elementCount(dims.slice(axis + 1));
  const values = new Float32Array(outer * wide);
  for (let i = 0; i < outer; i++) values.set(old.subarray(i * inner, (i + 1) * inner), i * wide);
  return float32Tensor(
    dims.map((length, i) => (i === axis ? length + more : length)),
    values,
  );
}
