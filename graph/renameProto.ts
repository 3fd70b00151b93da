/** The names of values in ONNX's own messages: which there are, and the same node with others, subgraphs included. */
import { type GraphProto, type NodeProto, onnx } from './proto.ts';

type Rename = (name: string) => string;

function subgraphs(node: NodeProto): readonly GraphProto[] {
  return node.attribute.flatMap(({ g }) => (g == null ? [] : [onnx.GraphProto.create(g)]));
}

/** Every name that a graph or a graph within it gives to a value. */
export function definedNames(graph: GraphProto): Set<string> {
  const ends = [...graph.input, ...graph.output, ...graph.initializer].map(({ name }) => name ?? '');
  const sparse = graph.sparseInitializer.map(({ values }) => values?.name ?? '');
  const names = new Set([...ends, ...sparse]);
  for (const entry of graph.node) {
    const node = onnx.NodeProto.create(entry);
    for (const output of node.output) names.add(output);
    for (const inner of subgraphs(node)) for (const name of definedNames(inner)) names.add(name);
  }
  return names;
}

/** `rename` is asked for every value that is read or made. */
export function renamedNode(node: NodeProto, rename: Rename): NodeProto {
  const attribute = node.attribute.map((entry) =>
    entry.g == null ? entry : { ...entry, g: renamedGraph(onnx.GraphProto.create(entry.g), rename) },
  );
  return onnx.NodeProto.create({
    ...node,
    input: node.input.map(rename),
    output: node.output.map(rename),
    attribute,
  });
}

function renamedGraph(graph: GraphProto, rename: Rename): GraphProto {
  const named = <T extends { name?: string | null }>(list: readonly T[]) =>
    list.map((entry) => ({ ...entry, name: rename(entry.name ?? '') }));
  return onnx.GraphProto.create({
    ...graph,
    node: graph.node.map((entry) => renamedNode(onnx.NodeProto.create(entry), rename)),
    input: named(graph.input),
    output: named(graph.output),
    valueInfo: named(graph.valueInfo),
    initializer: named(graph.initializer),
    sparseInitializer: graph.sparseInitializer.map((entry) => ({
      ...entry,
      values: { ...entry.values, name: rename(entry.values?.name ?? '') },
    })),
  });
}
