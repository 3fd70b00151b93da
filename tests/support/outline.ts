/**
 * The opposite of inlining: random runs of a model's nodes become functions that it calls, some within others, with attributes
 * referred to, and names that are those of the graph around. And weights become sparse tensors. The model computes the same.
 */
import {
  type AttributeProto,
  type FunctionProto,
  fromInt64,
  type ModelProto,
  type NodeProto,
  onnx,
} from '../../graph/proto.ts';
import { encodeModel, ownDomain } from './functionModel.ts';

type Random = () => number;

export function outlined(bytes: Uint8Array, random: Random): Uint8Array {
  const proto: ModelProto = onnx.ModelProto.decode(bytes);
  const graph = onnx.GraphProto.create(proto.graph ?? {});
  const [opset] = proto.opsetImport;
  const opsetImport = [
    { domain: '', version: fromInt64(opset?.version) },
    { domain: ownDomain, version: 1 },
  ];
  const functions: FunctionProto[] = [];
  const outputs = graph.output.map(({ name }) => name ?? '');
  const nodes = graph.node.map((node): NodeProto => onnx.NodeProto.create(node));
  const node = withCalls(nodes, outputs, functions, random, 0);
  const sparse = graph.initializer.filter(({ dataType }) => dataType === 1 && random() < 0.3);
  const model = onnx.ModelProto.create({
    ...proto,
    irVersion: 10,
    opsetImport,
    functions: functions.map((own) => onnx.FunctionProto.create({ ...own, opsetImport })),
    graph: {
      ...graph,
      node,
      valueInfo: [],
      initializer: graph.initializer.filter((tensor) => !sparse.includes(tensor)),
      sparseInitializer: sparse.map((tensor) => sparseOf(onnx.TensorProto.create(tensor))),
    },
  });
  return encodeModel(model);
}

/** Every element is listed but the zeros. */
function sparseOf({ name, dims, rawData }: InstanceType<typeof onnx.TensorProto>) {
  const values = [...new Float32Array(rawData.slice().buffer)];
  const at = values.flatMap((value, i) => (value === 0 ? [] : [i]));
  return {
    dims,
    values: { name, dataType: 1, dims: [at.length], floatData: at.map((i) => values[i] ?? 0) },
    indices: { dataType: 7, dims: [at.length], int64Data: at },
  };
}

/** `outputs`: what is wanted of these nodes. */
function withCalls(
  nodes: readonly NodeProto[],
  outputs: readonly string[],
  functions: FunctionProto[],
  random: Random,
  depth: number,
): NodeProto[] {
  const result: NodeProto[] = [];
  for (let start = 0; start < nodes.length; ) {
    const length = depth < 3 && random() < 0.5 ? 1 + Math.floor(random() * 5) : 0;
    const run = nodes.slice(start, start + length);
    const after = nodes.slice(start + length).flatMap(({ input }) => input);
    const call = run.length === 0 ? undefined : callOf(run, [...after, ...outputs], functions, random, depth);
    if (call === undefined) result.push(...nodes.slice(start, start + 1));
    else result.push(call);
    start += call === undefined ? 1 : run.length;
  }
  return result;
}

function callOf(
  run: readonly NodeProto[],
  wanted: readonly string[],
  functions: FunctionProto[],
  random: Random,
  depth: number,
): NodeProto | undefined {
  const made = run.flatMap(({ output }) => output);
  const read = [...new Set(run.flatMap(({ input }) => input))].filter(
    (name) => name !== '' && !made.includes(name),
  );
  const given = made.filter((name) => wanted.includes(name));
  if (given.length === 0) return undefined;
  // Names that the graph around has too.
  const inside = new Map([...read, ...made].map((name, i) => [name, `v${i}`]));
  const rename = (name: string) => inside.get(name) ?? '';
  const name = `F${functions.length}_${depth}`;
  const own: AttributeProto[] = [];
  const handedOn = new Map<string, AttributeProto['type']>();
  const refersTo = `given${depth}`;
  const body = run.map((node): NodeProto => {
    const attribute = node.attribute.map((entry) => {
      const original = onnx.AttributeProto.create(entry);
      // What is referred to around is handed on.
      if (original.refAttrName !== '') handedOn.set(original.refAttrName, original.type);
      if (own.length > 0 || original.refAttrName !== '' || random() < 0.5) return original;
      own.push(onnx.AttributeProto.create({ ...original, name: refersTo }));
      return onnx.AttributeProto.create({ name: original.name, type: original.type, refAttrName: refersTo });
    });
    return onnx.NodeProto.create({
      ...node,
      input: node.input.map(rename),
      output: node.output.map(rename),
      attribute,
    });
  });
  const byDefault = random() < 0.5;
  const called: FunctionProto = onnx.FunctionProto.create({
    name,
    domain: ownDomain,
    input: read.map(rename),
    output: given.map(rename),
    attribute: [...handedOn.keys(), ...(byDefault ? [] : own.map((entry) => entry.name))],
  });
  functions.push(called);
  called.node = withCalls(body, given.map(rename), functions, random, depth + 1);
  if (byDefault && own.length > 0) called.attributeProto = own;
  return onnx.NodeProto.create({
    opType: name,
    domain: ownDomain,
    input: read,
    output: given,
    attribute: [
      ...[...handedOn].map(([refAttrName, type]) => ({ name: refAttrName, refAttrName, type })),
      ...(byDefault ? [] : own),
    ],
  });
}
