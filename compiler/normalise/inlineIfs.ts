/** An If whose condition is known becomes the nodes of the branch that is taken. Others stay, and are run whole. */
import { ifAttributes } from '../../graph/attributes/values.ts';
import type { Graph, Model, Node } from '../../graph/graph.ts';
import { renameReads } from '../../graph/rename.ts';
import { readIntegers, type Tensor } from '../../graph/tensor.ts';
import { measureWhatIsNew } from './measureValues.ts';
import type { Pass } from './pass.ts';
import { removeUnused } from './removeUnused.ts';

/** What a branch holds may be measured only once it is part of the graph; then conditions within it may be known. */
export const inlineIfs: Pass = async (model, context) => {
  let current = model;
  for (let next = withoutKnownIfs(current); next !== current; next = withoutKnownIfs(current)) {
    current = await measureWhatIsNew(await removeUnused(next, context), context);
  }
  return current;
};

/** The model itself where no condition is known. */
function withoutKnownIfs(model: Model): Model {
  const { graph } = model;
  const initializers = new Map(graph.initializers);
  const nodes = graph.nodes.flatMap((node) => {
    const branch = takenBranch(graph, node);
    return branch === undefined ? [node] : inlined(node, branch, initializers);
  });
  const changed = nodes.some((node, i) => node !== graph.nodes[i]) || nodes.length !== graph.nodes.length;
  return changed ? { ...model, graph: { ...graph, nodes, initializers } } : model;
}

function takenBranch({ initializers }: Graph, node: Node): Graph | undefined {
  const condition = initializers.get(node.inputs[0] ?? '');
  if (node.opType !== 'If' || node.domain !== '' || condition === undefined) return undefined;
  const { thenBranch, elseBranch } = ifAttributes(node);
  return readIntegers(condition)[0] === 0 ? elseBranch : thenBranch;
}

/** Names of the branch get the node's before them: those of two branches may be the same. */
function inlined(node: Node, branch: Graph, initializers: Map<string, Tensor>): readonly Node[] {
  const own = [...branch.initializers.keys(), ...branch.nodes.flatMap(({ outputs }) => outputs)];
  const names = new Map(own.filter((name) => name !== '').map((name) => [name, `${node.name}/${name}`]));
  for (const [name, tensor] of branch.initializers) initializers.set(names.get(name) ?? name, tensor);
  const nodes = branch.nodes.map((inner) => ({
    ...renameReads(inner, names),
    name: `${node.name}/${inner.name}`,
    outputs: inner.outputs.map((output) => names.get(output) ?? output),
  }));
  const given = node.outputs.flatMap((output, i): Node[] => {
    const source = branch.outputs[i]?.name;
    if (output === '' || source === undefined) return [];
    const fields = { opType: 'Identity', domain: '', outputs: [output], attributes: new Map() };
    return [{ ...fields, name: `${node.name}/output${i}`, inputs: [names.get(source) ?? source] }];
  });
  return [...nodes, ...given];
}
