/** Brings a model of any opset to opset 17 by the table of lifting rules, subgraphs included. */
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { type LiftContext, refuse } from '../../graph/ops/lift/liftRule.ts';
import { liftRules, unchangedOperators } from '../../graph/ops/lift/liftRules.ts';
import { workingOpset } from '../../graph/opsets.ts';
import { sortNodes, valuesRead } from '../../graph/sort.ts';
import type { DataType, Tensor } from '../../graph/tensor.ts';
import type { Pass } from './pass.ts';
import { withUniqueNames } from './uniqueNames.ts';

/** The first IR version that goes with opset 17. */
const workingIrVersion = 8;

/** Needs concrete shapes in `graph.values`. Throws MODEL_UNSUPPORTED naming operator and node. */
export const liftOpset: Pass = (model) => {
  const opset = model.opsets.get('') ?? workingOpset;
  const lifted = { irVersion: Math.max(model.irVersion, workingIrVersion) };
  const graph = liftGraph(model.graph, opset, new Map(), namesOf(model.graph));
  return { ...model, ...lifted, opsets: new Map(model.opsets).set('', workingOpset), graph };
};

function liftGraph(
  graph: Graph,
  opset: number,
  outer: ReadonlyMap<string, Tensor>,
  taken: Set<string>,
): Graph {
  const initializers = new Map(graph.initializers);
  const visible = new Map([...outer, ...initializers]);
  const used = new Set(graph.nodes.flatMap((node) => valuesRead(node)));
  for (const output of graph.outputs) used.add(output.name);
  const types = typesOf(graph);
  const freshName = (hint: string): string => {
    let name = hint;
    for (let i = 1; taken.has(name); i++) name = `${hint}_${i}`;
    taken.add(name);
    return name;
  };
  const context: LiftContext = {
    opset,
    shape: (name) => types.get(name)?.shape,
    dataType: (name) => types.get(name)?.dataType,
    constant: (name) => visible.get(name),
    isUsed: (name) => used.has(name),
    freshName,
    addConstant(tensor, hint) {
      const name = freshName(hint);
      initializers.set(name, tensor);
      visible.set(name, tensor);
      types.set(name, { dataType: tensor.dataType, shape: tensor.dims });
      return name;
    },
  };
  const nodes = graph.nodes.flatMap((node) => {
    if (node.domain !== '') return [node];
    return liftNode(node, context).map((lifted) => withLiftedSubgraphs(lifted, opset, visible, taken));
  });
  return { ...graph, nodes: sortNodes(withUniqueNames(nodes)), initializers };
}

function liftNode(node: Node, context: LiftContext): readonly Node[] {
  const steps = liftRules.get(node.opType);
  if (steps === undefined) {
    // What the runtime has run at this opset is an operator of its own.
    if (unchangedOperators.has(node.opType) || context.opset === workingOpset) return [node];
    refuse(node, context, 'there is no rule for this operator');
  }
  let nodes: readonly Node[] = [node];
  for (const step of steps) {
    const applies =
      context.opset < (step.below ?? 0) || context.opset >= (step.from ?? Number.POSITIVE_INFINITY);
    if (applies) nodes = nodes.flatMap((each) => step.lift(each, context));
  }
  return nodes;
}

function withLiftedSubgraphs(
  node: Node,
  opset: number,
  outer: ReadonlyMap<string, Tensor>,
  taken: Set<string>,
): Node {
  const attributes = [...node.attributes].map(([name, attribute]): [string, Attribute] => [
    name,
    attribute.type === 'graph'
      ? { type: 'graph', value: liftGraph(attribute.value, opset, outer, taken) }
      : attribute,
  ]);
  return { ...node, attributes: new Map(attributes) };
}

interface KnownType {
  readonly dataType: DataType;
  readonly shape: readonly number[];
}

function typesOf(graph: Graph): Map<string, KnownType> {
  const types = new Map<string, KnownType>();
  for (const { name, dataType, shape } of [...graph.inputs, ...graph.outputs, ...graph.values.values()]) {
    const lengths = shape?.filter((dim) => typeof dim === 'number');
    if (lengths !== undefined && lengths.length === shape?.length)
      types.set(name, { dataType, shape: lengths });
  }
  for (const [name, tensor] of graph.initializers)
    types.set(name, { dataType: tensor.dataType, shape: tensor.dims });
  return types;
}

function namesOf(graph: Graph): Set<string> {
  const names = new Set([...graph.initializers.keys(), ...graph.inputs.map((input) => input.name)]);
  for (const node of graph.nodes) {
    for (const output of node.outputs) names.add(output);
    for (const attribute of node.attributes.values()) {
      if (attribute.type === 'graph') for (const name of namesOf(attribute.value)) names.add(name);
    }
  }
  return names;
}
