/** Split as one Slice for each output that is read: operator rules are of nodes with one output. */
import { splitAttributes } from '../../graph/attributes/moves.ts';
import type { Node } from '../../graph/graph.ts';
import { positiveAxis } from '../../graph/ops/rule.ts';
import { valuesRead } from '../../graph/sort.ts';
import { int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Pass } from './pass.ts';

/** Needs concrete shapes in `graph.values`; a Split whose outputs have none stays. */
export const splitsToSlices: Pass = (model) => {
  const { graph } = model;
  const initializers = new Map<string, Tensor>(graph.initializers);
  const shapes = new Map<string, readonly unknown[] | undefined>();
  for (const { name, shape } of [...graph.values.values(), ...graph.outputs]) shapes.set(name, shape);
  const read = new Set([
    ...graph.nodes.flatMap((node) => valuesRead(node)),
    ...graph.outputs.map(({ name }) => name),
  ]);

  const slicesOf = (node: Node): readonly Node[] => {
    const rank = shapes.get(node.outputs[0] ?? '')?.length ?? 0;
    const axis = positiveAxis(splitAttributes(node).axis, rank);
    const lengths = node.outputs.map((output) => shapes.get(output)?.[axis]);
    if (!lengths.every((length) => typeof length === 'number')) return [node];
    const constant = (value: number, hint: string): string => {
      const name = `${node.outputs[0]}/${hint}`;
      initializers.set(name, int64Tensor([value]));
      return name;
    };
    let start = 0;
    return node.outputs.flatMap((output, i): Node[] => {
      const [from, to] = [start, start + (lengths[i] ?? 0)];
      start = to;
      if (!read.has(output)) return [];
      const limits = [constant(from, `from${from}`), constant(to, `to${to}`), constant(axis, `axis${axis}`)];
      return [
        {
          name: `${node.name}/${i}`,
          opType: 'Slice',
          domain: '',
          inputs: [node.inputs[0] ?? '', ...limits],
          outputs: [output],
          attributes: new Map(),
        },
      ];
    });
  };

  const nodes = graph.nodes.flatMap((node) =>
    node.opType === 'Split' && node.domain === '' ? slicesOf(node) : [node],
  );
  return { ...model, graph: { ...graph, nodes, initializers } };
};
