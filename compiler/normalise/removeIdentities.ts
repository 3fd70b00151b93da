/** Removes nodes that pass their input on: Identity, and Dropout in inference. Inputs and constants that are outputs keep one. */
import type { Graph, Node } from '../../graph/graph.ts';
import { renameReads } from '../../graph/rename.ts';
import { valuesRead } from '../../graph/sort.ts';
import { readIntegers } from '../../graph/tensor.ts';
import type { Pass } from './pass.ts';

export const removeIdentities: Pass = (model) => ({ ...model, graph: withoutIdentities(model.graph) });

function withoutIdentities(graph: Graph): Graph {
  const outputs = new Set(graph.outputs.map((output) => output.name));
  const used = new Set(graph.nodes.flatMap((node) => valuesRead(node)));
  for (const name of outputs) used.add(name);
  const produced = new Set(graph.nodes.flatMap((node) => node.outputs));
  /** Value to read instead, for reads... */
  const names = new Map<string, string>();
  /** ...and for the one value that is produced under a graph output's name. */
  const producedAs = new Map<string, string>();
  const current = (name: string): string => names.get(name) ?? name;
  const kept: Node[] = [];
  for (const node of graph.nodes) {
    if (!passesOn(node, graph, used)) {
      kept.push(node);
      continue;
    }
    const source = current(node.inputs[0] ?? '');
    const [target = ''] = node.outputs;
    if (!outputs.has(target)) names.set(target, source);
    else if (produced.has(source) && !outputs.has(source) && !producedAs.has(source))
      producedAs.set(source, target);
    else kept.push(node);
  }
  for (const [from, to] of names) names.set(from, producedAs.get(to) ?? to);
  for (const [from, to] of producedAs) names.set(from, to);
  const nodes = kept.map((node) => ({
    ...renameReads(node, names),
    outputs: node.outputs.map((name) => producedAs.get(name) ?? name),
  }));
  return { ...graph, nodes };
}

function passesOn(node: Node, graph: Graph, used: ReadonlySet<string>): boolean {
  if (node.domain !== '') return false;
  if (node.opType === 'Identity') return true;
  if (node.opType !== 'Dropout' || node.outputs.slice(1).some((output) => used.has(output))) return false;
  const training = node.inputs[2] ?? '';
  const constant = graph.initializers.get(training);
  return training === '' || (constant !== undefined && readIntegers(constant)[0] === 0);
}
