/**
 * A Model as ONNX bytes that any runtime reads: weights inside, in one external file, or as references into
 * files that are not in hand. What was typed data in the source comes out raw.
 */
import { StarlingError } from '../protocol/errors.ts';
import { dataTypeCodes } from './dataTypeCodes.ts';
import type { Attribute, Dimension, Graph, Model, Node, ValueInfo } from './graph.ts';
import { onnx, toInt64 } from './proto.ts';
import type { DataType, Tensor } from './tensor.ts';

/** An initializer that lies in another file; the graph names it but its data need not be in hand. */
export interface ExternalInitializer {
  readonly dataType: Exclude<DataType, 'string'>;
  readonly dims: readonly number[];
  /** The file's path relative to the model, and the name under which a runtime is given its bytes. */
  readonly path: string;
  /** First byte within that file. */
  readonly offset: number;
  readonly bytes: number;
}

export interface SaveOptions {
  /**
   * Writes floating-point initializers of at least `threshold` bytes into one external file that the model
   * calls `path`. Integers stay inside: onnxruntime reads axes and shapes before it opens external files.
   */
  readonly external?: { readonly path: string; readonly threshold: number };
  /** Initializers of the top graph that are only referred to, by name. */
  readonly externalInitializers?: ReadonlyMap<string, ExternalInitializer>;
}

export interface SavedModel {
  /** A ModelProto. */
  readonly bytes: Uint8Array;
  /** The content of `options.external.path`; absent where nothing reached the threshold. */
  readonly external?: Uint8Array;
}

/** Each tensor of the external file starts at a multiple of this, so that it can be viewed in place. */
const externalAlignment = 64;

/** Throws INTERNAL where a name is given both as an initializer and as an external one. */
export function saveModel(model: Model, options: SaveOptions = {}): SavedModel {
  const pieces: Uint8Array[] = [];
  let position = 0;
  const initializers: TensorMessage[] = [];
  for (const [name, tensor] of model.graph.initializers) {
    const { external } = options;
    const { dataType } = tensor;
    if (!isFloat(dataType) || external === undefined || tensor.data.byteLength < external.threshold) {
      initializers.push(tensorMessage(tensor, name));
      continue;
    }
    const padding = -position & (externalAlignment - 1);
    pieces.push(new Uint8Array(padding), tensor.data);
    const offset = position + padding;
    position = offset + tensor.data.byteLength;
    const bytes = tensor.data.byteLength;
    initializers.push(
      referenceMessage(name, { dataType, dims: tensor.dims, path: external.path, offset, bytes }),
    );
  }
  for (const [name, reference] of options.externalInitializers ?? []) {
    if (model.graph.initializers.has(name)) {
      throw new StarlingError(
        'INTERNAL',
        `Initializer "${name}" was given to saveModel both with data and as a reference.`,
      );
    }
    initializers.push(referenceMessage(name, reference));
  }
  const message = onnx.ModelProto.create({
    // Before IR 4 every initializer must be an input as well.
    irVersion: Math.max(model.irVersion, 4),
    producerName: model.producer,
    opsetImport: [...model.opsets].map(([domain, version]) => ({ domain, version: toInt64(version) })),
    metadataProps: [...model.metadata].map(([key, value]) => ({ key, value })),
    graph: graphMessage(model.graph, initializers),
  });
  const bytes = plainView(onnx.ModelProto.encode(message).finish());
  return position === 0 ? { bytes } : { bytes, external: joined(pieces, position) };
}

function isFloat(dataType: DataType): dataType is 'float32' | 'float64' | 'float16' | 'bfloat16' {
  return dataType.includes('float');
}

type TensorMessage = Parameters<typeof onnx.TensorProto.create>[0] & object;
type GraphMessage = Parameters<typeof onnx.GraphProto.create>[0] & object;
type NodeMessage = Parameters<typeof onnx.NodeProto.create>[0] & object;
type AttributeMessage = Parameters<typeof onnx.AttributeProto.create>[0] & object;
type ValueMessage = Parameters<typeof onnx.ValueInfoProto.create>[0] & object;

function graphMessage(graph: Graph, initializer: TensorMessage[]): GraphMessage {
  return {
    name: graph.name === '' ? 'graph' : graph.name,
    input: [...graph.inputs, ...overridableInfos(graph)].map(valueMessage),
    output: graph.outputs.map(valueMessage),
    valueInfo: [...graph.values.values()].map(valueMessage),
    node: graph.nodes.map(nodeMessage),
    initializer,
  };
}

function overridableInfos(graph: Graph): ValueInfo[] {
  return [...(graph.overridable ?? [])].flatMap((name) => {
    const tensor = graph.initializers.get(name);
    return tensor === undefined ? [] : [{ name, dataType: tensor.dataType, shape: tensor.dims }];
  });
}

function nodeMessage(node: Node): NodeMessage {
  return {
    name: node.name,
    opType: node.opType,
    domain: node.domain,
    input: [...node.inputs],
    output: [...node.outputs],
    attribute: [...node.attributes].map(([name, attribute]) => attributeMessage(name, attribute)),
  };
}

function attributeMessage(name: string, attribute: Attribute): AttributeMessage {
  const types = onnx.AttributeProto.AttributeType;
  switch (attribute.type) {
    case 'int':
      return { name, type: types.INT, i: toInt64(attribute.value) };
    case 'float':
      return { name, type: types.FLOAT, f: attribute.value };
    case 'string':
      return { name, type: types.STRING, s: new TextEncoder().encode(attribute.value) };
    case 'tensor':
      return { name, type: types.TENSOR, t: tensorMessage(attribute.value, '') };
    case 'graph': {
      const initializers = [...attribute.value.initializers].map(([key, tensor]) =>
        tensorMessage(tensor, key),
      );
      return { name, type: types.GRAPH, g: graphMessage(attribute.value, initializers) };
    }
    case 'ints':
      return { name, type: types.INTS, ints: attribute.value.map(toInt64) };
    case 'floats':
      return { name, type: types.FLOATS, floats: [...attribute.value] };
    case 'strings':
      return {
        name,
        type: types.STRINGS,
        strings: attribute.value.map((text) => new TextEncoder().encode(text)),
      };
  }
}

function tensorMessage(tensor: Tensor, name: string): TensorMessage {
  const head = { name, dims: tensor.dims.map(toInt64), dataType: dataTypeCodes[tensor.dataType] };
  if (tensor.dataType === 'string') return { ...head, stringData: [...(tensor.strings ?? [])] };
  return { ...head, rawData: tensor.data };
}

function referenceMessage(name: string, reference: ExternalInitializer): TensorMessage {
  return {
    name,
    dims: reference.dims.map(toInt64),
    dataType: dataTypeCodes[reference.dataType],
    dataLocation: onnx.TensorProto.DataLocation.EXTERNAL,
    externalData: [
      { key: 'location', value: reference.path },
      { key: 'offset', value: String(reference.offset) },
      { key: 'length', value: String(reference.bytes) },
    ],
  };
}

function valueMessage(value: ValueInfo): ValueMessage {
  if (value.untyped === true) return { name: value.name };
  const shape = value.shape === undefined ? {} : { shape: { dim: value.shape.map(dimensionMessage) } };
  return { name: value.name, type: { tensorType: { elemType: dataTypeCodes[value.dataType], ...shape } } };
}

function dimensionMessage(dimension: Dimension) {
  if (dimension === null) return {};
  return typeof dimension === 'string' ? { dimParam: dimension } : { dimValue: toInt64(dimension) };
}

function joined(pieces: readonly Uint8Array[], length: number): Uint8Array {
  const result = new Uint8Array(length);
  let position = 0;
  for (const piece of pieces) {
    result.set(piece, position);
    position += piece.byteLength;
  }
  return result;
}

/** In Node the library answers with a Buffer, whose methods differ from a Uint8Array's. */
function plainView(bytes: Uint8Array): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
