/** A graph as text for people: one node a line, with types and shapes where they are known. Not meant to be parsed. */
import type { Attribute, Graph, Node, ValueInfo } from './graph.ts';
import { readIntegers, type Tensor } from './tensor.ts';

/** Longest list of numbers that is written out. */
const listedNumbers = 8;

/** Lines end with a newline; subgraphs are indented under their node. */
export function printGraph(graph: Graph): string {
  const types = new Map(graph.values);
  for (const value of [...graph.inputs, ...graph.outputs]) types.set(value.name, value);
  const lines = [`graph ${graph.name || 'without name'}`];
  for (const input of graph.inputs) lines.push(`  input ${printValue(input.name, input)}`);
  for (const [name, tensor] of graph.initializers)
    lines.push(`  initializer ${name}: ${printTensor(tensor)}`);
  for (const node of graph.nodes) lines.push(...printNode(node, types));
  for (const output of graph.outputs) lines.push(`  output ${printValue(output.name, output)}`);
  return lines.map((line) => `${line}\n`).join('');
}

function printNode(node: Node, types: ReadonlyMap<string, ValueInfo>): string[] {
  const outputs = node.outputs
    .map((name) => (name === '' ? '_' : printValue(name, types.get(name))))
    .join(', ');
  const inputs = node.inputs.map((name) => (name === '' ? '_' : name)).join(', ');
  const domain = node.domain === '' ? '' : `${node.domain}.`;
  const attributes: string[] = [];
  const subgraphs: string[] = [];
  for (const [name, attribute] of node.attributes) {
    if (attribute.type !== 'graph') {
      attributes.push(`${name}=${printAttribute(attribute)}`);
      continue;
    }
    const lines = printGraph(attribute.value).trimEnd().split('\n');
    subgraphs.push(`    ${name}:`, ...lines.map((line) => `      ${line}`));
  }
  const suffix = attributes.length === 0 ? '' : ` {${attributes.join(', ')}}`;
  return [`  ${outputs} = ${domain}${node.opType}(${inputs})${suffix}  # ${node.name}`, ...subgraphs];
}

function printValue(name: string, value: ValueInfo | undefined): string {
  if (value === undefined || value.untyped === true) return name;
  const shape = value.shape?.map((dim) => dim ?? '?').join(',') ?? '...';
  return `${name}: ${value.dataType}[${shape}]`;
}

function printTensor(tensor: Tensor): string {
  const head = `${tensor.dataType}[${tensor.dims.join(',')}]`;
  const integral = tensor.dataType === 'int64' || tensor.dataType === 'int32' || tensor.dataType === 'bool';
  return integral && tensor.data.byteLength <= 8 * listedNumbers
    ? `${head} = ${printList(readIntegers(tensor))}`
    : head;
}

function printAttribute(attribute: Exclude<Attribute, { type: 'graph' }>): string {
  switch (attribute.type) {
    case 'tensor':
      return printTensor(attribute.value);
    case 'string':
      return JSON.stringify(attribute.value);
    case 'ints':
    case 'floats':
    case 'strings':
      return printList(attribute.value);
    default:
      return String(attribute.value);
  }
}

function printList(list: readonly (number | string)[]): string {
  const shown = list.slice(0, listedNumbers).join(',');
  return list.length > listedNumbers ? `[${shown},... ${list.length}]` : `[${shown}]`;
}
