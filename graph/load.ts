/**
 * ONNX bytes as a Model: every operator set from opset 6 on, initializers of every storage kind, subgraphs
 * kept, functions inlined. What the file holds is not interpreted here; lifting and shapes are the compiler's.
 */
import { StarlingError } from '../protocol/errors.ts';
import { dataTypeOfCode } from './dataTypeCodes.ts';
import { decodeModel, unreadableModel } from './decodeModel.ts';
import type { Dimension, Graph, Model, Node, ValueInfo } from './graph.ts';
import { inlineFunctions } from './inlineFunctions.ts';
import { loadAttribute } from './loadAttribute.ts';
import { loadSparseTensor } from './loadSparseTensor.ts';
import { loadTensor, type ReadExternal } from './loadTensor.ts';
import { newestOpset, normalDomain, oldestOpset } from './opsets.ts';
import {
  fromInt64,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  onnx,
  type ValueInfoProto,
} from './proto.ts';
import { sortNodes } from './sort.ts';
import type { Tensor } from './tensor.ts';
import { verifyGraph } from './verify.ts';

/**
 * Reads a model. `external` gives the bytes of files beside it (weights as external data), by relative path.
 * Tensors are views into the bytes wherever possible: keep them unchanged while the model lives.
 * Throws MODEL_UNREADABLE (not an ONNX file, damaged), DATA_FILE_MISSING, MODEL_UNSUPPORTED (opset below 7,
 * type or feature that Starling does not hold) or GRAPH_INVALID.
 */
export function loadModel(bytes: Uint8Array, external?: ReadExternal): Model {
  const proto = decodeModel(bytes);
  try {
    return modelOf(inlineFunctions(proto), cachedReader(external));
  } catch (thrown) {
    throw StarlingError.from(thrown, 'MODEL_UNREADABLE', 'The ONNX model is damaged');
  }
}

function modelOf(proto: ModelProto, readExternal: ReadExternal): Model {
  const opsets = new Map(
    proto.opsetImport.map((entry) => [normalDomain(entry.domain ?? ''), fromInt64(entry.version)]),
  );
  const opset = opsets.get('');
  if (opset === undefined || opset < oldestOpset || opset > newestOpset) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `The model uses ${opset === undefined ? 'no opset of ONNX itself' : `opset ${opset}`}; Starling reads opsets ${oldestOpset} to ${newestOpset}: export the model again with one of them.`,
    );
  }
  const irVersion = fromInt64(proto.irVersion);
  const graph = graphOf(onnx.GraphProto.create(proto.graph ?? {}), irVersion, readExternal);
  for (const input of graph.inputs) {
    if (input.untyped === true) {
      throw new StarlingError(
        'MODEL_UNSUPPORTED',
        `Input "${input.name}" is not a tensor of a type that Starling reads; export the model with tensor inputs.`,
      );
    }
  }
  for (const node of graph.nodes) {
    if (!opsets.has(node.domain)) {
      throw new StarlingError(
        'MODEL_UNSUPPORTED',
        `Node "${node.name}" (${node.opType}) belongs to the operator set "${node.domain}", of which the model imports no version.`,
      );
    }
  }
  return {
    irVersion,
    opsets,
    producer: proto.producerName,
    metadata: new Map(proto.metadataProps.map((entry) => [entry.key ?? '', entry.value ?? ''])),
    graph: verifyGraph(graph),
  };
}

function graphOf(proto: GraphProto, irVersion: number, readExternal: ReadExternal): Graph {
  const initializers = initializersOf(proto, readExternal);
  const infos = (list: typeof proto.input): ValueInfo[] =>
    list.map((entry) => valueInfoOf(onnx.ValueInfoProto.create(entry)));
  const listed = infos(proto.input);
  const inputs = listed.filter((input) => !initializers.has(input.name));
  const overridable = listed.map((input) => input.name).filter((name) => initializers.has(name));
  const outputs = infos(proto.output);
  const ends = new Set([...inputs, ...outputs].map((value) => value.name));
  const values = infos(proto.valueInfo).filter(
    (value) => value.untyped !== true && !ends.has(value.name) && !initializers.has(value.name),
  );
  return {
    name: proto.name,
    inputs,
    outputs,
    nodes: sortNodes(nodesOf(proto, irVersion, readExternal)),
    initializers,
    // IR 3 lists every initializer as an input, and means nothing by it.
    ...(overridable.length > 0 && irVersion >= 4 ? { overridable: new Set(overridable) } : {}),
    values: new Map(values.map((value) => [value.name, value])),
  };
}

function initializersOf(proto: GraphProto, readExternal: ReadExternal): Map<string, Tensor> {
  const initializers = new Map<string, Tensor>();
  const add = (name: string, tensor: Tensor): void => {
    if (initializers.has(name)) {
      throw new StarlingError('GRAPH_INVALID', `The graph defines initializer "${name}" twice.`);
    }
    initializers.set(name, tensor);
  };
  for (const entry of proto.initializer) {
    const tensor = onnx.TensorProto.create(entry);
    add(tensor.name, loadTensor(tensor, `Initializer "${tensor.name}"`, readExternal));
  }
  for (const entry of proto.sparseInitializer) {
    const name = entry.values?.name ?? '';
    const sparse = onnx.SparseTensorProto.create(entry);
    add(name, loadSparseTensor(sparse, `Sparse initializer "${name}"`, readExternal));
  }
  return initializers;
}

function nodesOf(proto: GraphProto, irVersion: number, readExternal: ReadExternal): Node[] {
  const taken = new Set(proto.node.map((node) => node.name ?? ''));
  const used = new Set<string>();
  return proto.node.map((entry, index) => {
    const node = onnx.NodeProto.create(entry);
    // Names are optional in ONNX and sometimes repeated; every message and every plan needs one.
    let name = node.name;
    if (name === '' || used.has(name)) {
      const stem = `${name === '' ? node.opType : name}_${index}`;
      name = stem;
      for (let i = 1; taken.has(name) || used.has(name); i++) name = `${stem}_${i}`;
    }
    used.add(name);
    return nodeOf(node, name, irVersion, readExternal);
  });
}

function nodeOf(proto: NodeProto, name: string, irVersion: number, readExternal: ReadExternal): Node {
  if (proto.opType === '') throw unreadableModel(`its node "${name}" names no operator`);
  const loaders = {
    tensor: (tensor: Parameters<typeof loadTensor>[0], where: string) =>
      loadTensor(tensor, where, readExternal),
    sparseTensor: (tensor: Parameters<typeof loadSparseTensor>[0], where: string) =>
      loadSparseTensor(tensor, where, readExternal),
    graph: (graph: GraphProto) => graphOf(graph, irVersion, readExternal),
  };
  const where = `node "${name}" (${proto.opType})`;
  return {
    name,
    opType: proto.opType,
    domain: normalDomain(proto.domain),
    inputs: proto.input,
    outputs: proto.output,
    attributes: new Map(
      proto.attribute.map((entry) => {
        const attribute = onnx.AttributeProto.create(entry);
        // A Constant's tensor is dense once it is read.
        const attributeName = attribute.name === 'sparse_value' ? 'value' : attribute.name;
        return [attributeName, loadAttribute(attribute, where, loaders)];
      }),
    ),
  };
}

function valueInfoOf(proto: ValueInfoProto): ValueInfo {
  const { name } = proto;
  const tensorType = proto.type?.tensorType;
  const dataType = tensorType == null ? undefined : dataTypeOfCode(tensorType.elemType ?? 0);
  if (dataType === undefined) return { name, dataType: 'float32', untyped: true };
  if (tensorType?.shape == null) return { name, dataType };
  const shape = (tensorType.shape.dim ?? []).map((dim): Dimension => {
    if (dim.dimParam != null && dim.dimParam !== '') return dim.dimParam;
    if (dim.dimValue == null || !Object.hasOwn(dim, 'dimValue')) return null;
    const length = fromInt64(dim.dimValue);
    return length < 0 ? null : length;
  });
  return { name, dataType, shape };
}

/** Each external file is read once, and its absence is one clear sentence. */
function cachedReader(external: ReadExternal | undefined): ReadExternal {
  const files = new Map<string, Uint8Array>();
  return (path) => {
    const known = files.get(path);
    if (known !== undefined) return known;
    try {
      if (external === undefined) {
        throw new StarlingError(
          'DATA_FILE_MISSING',
          `The model keeps weights in "${path}" beside it, which was not given; give the file together with the model.`,
        );
      }
      const { buffer, byteOffset, byteLength } = external(path);
      const file = new Uint8Array(buffer, byteOffset, byteLength);
      files.set(path, file);
      return file;
    } catch (thrown) {
      throw StarlingError.from(
        thrown,
        'MODEL_UNREADABLE',
        `The model keeps weights in "${path}" beside it, which could not be read`,
      );
    }
  };
}
