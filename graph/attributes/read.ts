/**
 * How an attribute is read off a node, by the type that ONNX gives it. Only the files beside this one call these: each has one
 * function per operator, with the specification's names and defaults.
 */
import type { Attribute, Graph, Node } from '../graph.ts';
import type { Tensor } from '../tensor.ts';

type Values = { readonly [A in Attribute as A['type']]: A['value'] };

/** Undefined where the node has no such attribute, or one of another type. */
function read<T extends keyof Values>(node: Node, name: string, type: T): Values[T] | undefined {
  const attribute = node.attributes.get(name);
  return attribute?.type === type ? (attribute.value as Values[T]) : undefined;
}

export function int(node: Node, name: string, fallback: number): number {
  return read(node, name, 'int') ?? fallback;
}

/** ONNX writes truth as 0 and 1. */
export function flag(node: Node, name: string, fallback: boolean): boolean {
  return int(node, name, fallback ? 1 : 0) !== 0;
}

export function float(node: Node, name: string, fallback: number): number {
  return read(node, name, 'float') ?? fallback;
}

export function text(node: Node, name: string, fallback: string): string {
  return read(node, name, 'string') ?? fallback;
}

export function optionalInt(node: Node, name: string): number | undefined {
  return read(node, name, 'int');
}

export function optionalFloat(node: Node, name: string): number | undefined {
  return read(node, name, 'float');
}

export function ints(node: Node, name: string): readonly number[] | undefined {
  return read(node, name, 'ints');
}

export function floats(node: Node, name: string): readonly number[] | undefined {
  return read(node, name, 'floats');
}

export function tensor(node: Node, name: string): Tensor | undefined {
  return read(node, name, 'tensor');
}

export function subgraph(node: Node, name: string): Graph | undefined {
  return read(node, name, 'graph');
}
