/** Models with functions of their own, written as newer exporters write them: with the fields that the library does not know. */
import protobuf from 'protobufjs/minimal.js';
import type { Graph } from '../../graph/graph.ts';
import { type FunctionProto, type ModelProto, type NodeProto, onnx } from '../../graph/proto.ts';
import { modelBytes } from './dividedAnswer.ts';

type Fields<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** A function, its body as nodes of a graph (in which attributes may refer to the function's). */
export interface OwnFunction {
  readonly name: string;
  readonly domain?: string;
  readonly overload?: string;
  readonly input?: readonly string[];
  readonly output?: readonly string[];
  readonly attribute?: readonly string[];
  readonly defaults?: readonly object[];
  readonly node: readonly Fields<NodeProto>[];
  readonly opsets?: Readonly<Record<string, number>>;
}

export const ownDomain = 'own.functions';

/** Encodes `overload` and `attribute_proto`, which the generated code leaves out. */
function encodeNewerFields(): () => void {
  const { encode: encodeNode } = onnx.NodeProto;
  const { encode: encodeFunction } = onnx.FunctionProto;
  onnx.NodeProto.encode = (message, writer = protobuf.Writer.create()) => {
    const { overload = '' } = message as NodeProto;
    encodeNode(message, writer);
    return overload === '' ? writer : writer.uint32(66).string(overload);
  };
  onnx.FunctionProto.encode = (message, writer = protobuf.Writer.create()) => {
    const { overload = '', attributeProto = [] } = message as FunctionProto;
    encodeFunction(message, writer);
    for (const attribute of attributeProto)
      onnx.AttributeProto.encode(attribute, writer.uint32(90).fork()).ldelim();
    return overload === '' ? writer : writer.uint32(106).string(overload);
  };
  return () => {
    onnx.NodeProto.encode = encodeNode;
    onnx.FunctionProto.encode = encodeFunction;
  };
}

/** With `overload` and `attributeProto` of its nodes and functions. */
export function encodeModel(proto: ModelProto): Uint8Array {
  const restore = encodeNewerFields();
  try {
    return new Uint8Array(onnx.ModelProto.encode(proto).finish());
  } finally {
    restore();
  }
}

/** `graph` may call the functions by nodes of `ownDomain`; `overloads` says which of several, by the name of the node. */
export function withFunctions(
  graph: Graph,
  functions: readonly OwnFunction[],
  { opset = 18, overloads = {} }: { opset?: number; overloads?: Readonly<Record<string, string>> } = {},
): Uint8Array {
  const proto = onnx.ModelProto.decode(modelBytes(graph, opset));
  proto.irVersion = 10;
  proto.opsetImport.push(onnx.OperatorSetIdProto.create({ domain: ownDomain, version: 1 }));
  proto.functions = functions.map(({ opsets = { '': opset, [ownDomain]: 1 }, defaults = [], ...own }) => {
    const opsetImport = Object.entries(opsets).map(([domain, version]) => ({ domain, version }));
    const node = own.node.map((entry) => onnx.NodeProto.create(entry as object));
    const fields = { domain: ownDomain, ...own, node, opsetImport, attributeProto: defaults };
    return onnx.FunctionProto.create(fields as object);
  });
  for (const node of proto.graph?.node ?? []) {
    const overload = overloads[node.name ?? ''];
    if (overload !== undefined) Object.assign(node, { overload });
  }
  return encodeModel(proto);
}
