/**
 * Checks that a graph is well formed: every value defined once and before its use, names unique, attributes
 * of the types ONNX gives them. It says nothing about shapes or what operators compute.
 */
import { StarlingError } from '../protocol/errors.ts';
import { attributeTypes } from './attributeTypes.ts';
import type { Graph, Node } from './graph.ts';
import { valuesCaptured } from './sort.ts';
import { byteCount, elementCount } from './tensor.ts';

export interface VerifyOptions {
  /** Names defined outside: values of the graph around a subgraph, initializers whose data is not in hand. */
  readonly defined?: Iterable<string>;
}

/** Returns the graph it was given; throws GRAPH_INVALID naming node and value. */
export function verifyGraph(graph: Graph, options: VerifyOptions = {}): Graph {
  const outer = new Set(options.defined ?? []);
  const definedBy = new Map<string, string>();
  const define = (name: string, by: string): void => {
    if (name === '') throw invalid(`${by} has no name`);
    const before = definedBy.get(name);
    if (before !== undefined) throw invalid(`value "${name}" is defined twice, by ${before} and by ${by}`);
    definedBy.set(name, by);
  };
  for (const input of graph.inputs) define(input.name, `input "${input.name}"`);
  for (const [name, tensor] of graph.initializers) {
    define(name, `initializer "${name}"`);
    const whole =
      tensor.dataType === 'string'
        ? tensor.strings?.length === elementCount(tensor.dims)
        : tensor.data.byteLength === byteCount(tensor.dataType, tensor.dims);
    if (!whole)
      throw invalid(`initializer "${name}" holds another number of elements than its dimensions say`);
  }
  const nodeNames = new Set<string>();
  for (const node of graph.nodes) {
    const by = describeNode(node);
    if (node.name === '') throw invalid(`a ${node.opType} node has no name`);
    if (nodeNames.has(node.name)) throw invalid(`two nodes are named "${node.name}"`);
    nodeNames.add(node.name);
    for (const name of node.inputs) {
      if (name !== '' && !definedBy.has(name) && !outer.has(name))
        throw invalid(undefinedValue(graph, by, name));
    }
    verifyAttributes(node, () => new Set([...definedBy.keys(), ...outer]));
    for (const name of node.outputs) if (name !== '') define(name, by);
  }
  const outputs = new Set<string>();
  for (const { name } of graph.outputs) {
    if (!definedBy.has(name) && !outer.has(name)) throw invalid(`output "${name}" is produced by no node`);
    if (outputs.has(name)) throw invalid(`output "${name}" is listed twice`);
    outputs.add(name);
  }
  return graph;
}

function verifyAttributes(node: Node, visible: () => ReadonlySet<string>): void {
  for (const [name, attribute] of node.attributes) {
    const expected = node.domain === '' ? attributeTypes.get(name) : undefined;
    if (expected !== undefined && !expected.includes(attribute.type)) {
      throw invalid(
        `${describeNode(node)} has attribute "${name}" of type ${attribute.type}, expected ${expected.join(' or ')}`,
      );
    }
    if (attribute.type !== 'graph') continue;
    const names = visible();
    for (const captured of valuesCaptured(attribute.value)) {
      if (!names.has(captured))
        throw invalid(
          `${describeNode(node)} reads value "${captured}" in "${name}", which is not defined before it`,
        );
    }
    verifyGraph(attribute.value, { defined: names });
  }
}

function undefinedValue(graph: Graph, by: string, name: string): string {
  const later = graph.nodes.some((node) => node.outputs.includes(name));
  return `${by} reads value "${name}", which is ${later ? 'defined only after it' : 'defined nowhere'}`;
}

function describeNode(node: Node): string {
  return `node "${node.name}" (${node.opType})`;
}

function invalid(problem: string): StarlingError {
  return new StarlingError('GRAPH_INVALID', `The graph is not well formed: ${problem}.`);
}
