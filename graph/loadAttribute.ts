/** One AttributeProto as an Attribute; kinds that Attribute does not hold are refused with node and name. */
import { StarlingError } from '../protocol/errors.ts';
import type { Attribute, Graph } from './graph.ts';
import {
  type AttributeProto,
  fromInt64,
  type GraphProto,
  onnx,
  type SparseTensorProto,
  type TensorProto,
} from './proto.ts';
import type { Tensor } from './tensor.ts';

export interface AttributeLoaders {
  readonly tensor: (proto: TensorProto, where: string) => Tensor;
  readonly sparseTensor: (proto: SparseTensorProto, where: string) => Tensor;
  readonly graph: (proto: GraphProto) => Graph;
}

/** `node` describes the node in messages. */
export function loadAttribute(proto: AttributeProto, node: string, load: AttributeLoaders): Attribute {
  const where = `Attribute "${proto.name}" of ${node}`;
  if (proto.refAttrName !== '') throw unsupported(where, 'refers to an attribute of a function');
  const types = onnx.AttributeProto.AttributeType;
  switch (proto.type === types.UNDEFINED ? typeFromFields(proto) : proto.type) {
    case types.INT:
      return { type: 'int', value: fromInt64(proto.i) };
    case types.FLOAT:
      return { type: 'float', value: proto.f };
    case types.STRING:
      return { type: 'string', value: text(proto.s, where) };
    case types.TENSOR:
      return { type: 'tensor', value: load.tensor(onnx.TensorProto.create(proto.t ?? {}), where) };
    case types.SPARSE_TENSOR:
      return {
        type: 'tensor',
        value: load.sparseTensor(onnx.SparseTensorProto.create(proto.sparseTensor ?? {}), where),
      };
    case types.GRAPH:
      return { type: 'graph', value: load.graph(onnx.GraphProto.create(proto.g ?? {})) };
    case types.INTS:
      return { type: 'ints', value: proto.ints.map(fromInt64) };
    case types.FLOATS:
      return { type: 'floats', value: proto.floats };
    case types.STRINGS:
      return { type: 'strings', value: proto.strings.map((bytes) => text(bytes, where)) };
    default:
      throw unsupported(where, `is a ${(types[proto.type] ?? 'value of unknown type').toLowerCase()}`);
  }
}

/** Files of the first IR versions leave the type out. */
function typeFromFields(proto: AttributeProto): number {
  const types = onnx.AttributeProto.AttributeType;
  if (proto.ints.length > 0) return types.INTS;
  if (proto.floats.length > 0) return types.FLOATS;
  if (proto.strings.length > 0) return types.STRINGS;
  if (Object.hasOwn(proto, 't')) return types.TENSOR;
  if (Object.hasOwn(proto, 'g')) return types.GRAPH;
  if (Object.hasOwn(proto, 's')) return types.STRING;
  if (Object.hasOwn(proto, 'f')) return types.FLOAT;
  return Object.hasOwn(proto, 'i') ? types.INT : types.INTS;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function text(bytes: Uint8Array, where: string): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw unsupported(where, 'is a string of bytes that are not UTF-8');
  }
}

function unsupported(where: string, problem: string): StarlingError {
  return new StarlingError('MODEL_UNSUPPORTED', `${where} ${problem}, which Starling does not read.`);
}
