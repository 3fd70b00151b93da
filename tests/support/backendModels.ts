/** Small ONNX models for the backends' tests, made field by field; no part of the graph code is under test here. */
import { onnx } from '../../graph/proto.ts';

const floatType = 1;
const stringType = 8;

export interface ModelPart {
  readonly inputs: readonly ValueSpec[];
  readonly outputs: readonly ValueSpec[];
  readonly nodes: Parameters<typeof onnx.NodeProto.create>[0][];
  readonly initializers?: readonly InstanceType<typeof onnx.TensorProto>[];
}

export interface ValueSpec {
  readonly name: string;
  readonly elemType?: number;
  readonly dims: readonly number[];
}

export function modelBytes({ inputs, outputs, nodes, initializers = [] }: ModelPart): Uint8Array {
  const encoded = onnx.ModelProto.encode({
    irVersion: 8,
    opsetImport: [{ domain: '', version: 17 }],
    graph: {
      name: 'test',
      node: nodes.map((node) => onnx.NodeProto.create(node)),
      input: inputs.map(valueInfo),
      output: outputs.map(valueInfo),
      initializer: [...initializers],
    },
  }).finish();
  // In Node the library gives a Buffer, which does not pass to a page as bytes.
  return new Uint8Array(encoded);
}

function valueInfo({ name, elemType = floatType, dims }: ValueSpec) {
  return { name, type: { tensorType: { elemType, shape: { dim: dims.map((dimValue) => ({ dimValue })) } } } };
}

/** y = x, for any element type. */
export function identityModel(elemType: number, dims: readonly number[]): Uint8Array {
  return modelBytes({
    inputs: [{ name: 'x', elemType, dims }],
    outputs: [{ name: 'y', elemType, dims }],
    nodes: [{ opType: 'Identity', input: ['x'], output: ['y'] }],
  });
}

/** sum = a + b and product = a * b, elementwise in float32. */
export function arithmeticModel(dims: readonly number[]): Uint8Array {
  return modelBytes({
    inputs: ['a', 'b'].map((name) => ({ name, dims })),
    outputs: ['sum', 'product'].map((name) => ({ name, dims })),
    nodes: [
      { opType: 'Add', input: ['a', 'b'], output: ['sum'] },
      { opType: 'Mul', input: ['a', 'b'], output: ['product'] },
    ],
  });
}

/** y = x + w, where w lies in a file that the model only names. */
export function externalModel(location: string, offset: number, dims: readonly number[]): Uint8Array {
  const elements = dims.reduce((product, dim) => product * dim, 1);
  return modelBytes({
    inputs: [{ name: 'x', dims }],
    outputs: [{ name: 'y', dims }],
    nodes: [{ opType: 'Add', input: ['x', 'w'], output: ['y'] }],
    initializers: [
      onnx.TensorProto.create({
        name: 'w',
        dims: [...dims],
        dataType: floatType,
        dataLocation: onnx.TensorProto.DataLocation.EXTERNAL,
        externalData: [
          { key: 'location', value: location },
          { key: 'offset', value: `${offset}` },
          { key: 'length', value: `${4 * elements}` },
        ],
      }),
    ],
  });
}

/** kept = x, text = x as strings, last = x. */
export function stringOutputModel(): Uint8Array {
  const dims = [2];
  return modelBytes({
    inputs: [{ name: 'x', dims }],
    outputs: [
      { name: 'kept', dims },
      { name: 'text', elemType: stringType, dims },
      { name: 'last', dims },
    ],
    nodes: [
      { opType: 'Identity', input: ['x'], output: ['kept'] },
      {
        opType: 'Cast',
        input: ['x'],
        output: ['text'],
        attribute: [int('to', stringType)],
      },
      { opType: 'Identity', input: ['x'], output: ['last'] },
    ],
  });
}

/** y = relu(conv(x)) with fixed weights, 3 x 3, in float32; dims of x are [batch, channels, rows, columns]. */
export function convolutionModel(
  dims: readonly [number, number, number, number],
  outputChannels: number,
): Uint8Array {
  const [batch, channels, rows, columns] = dims;
  const weights = Float32Array.from({ length: outputChannels * channels * 9 }, (_, i) => Math.sin(i) / 3);
  return modelBytes({
    inputs: [{ name: 'x', dims }],
    outputs: [{ name: 'y', dims: [batch, outputChannels, rows, columns] }],
    nodes: [
      { opType: 'Conv', input: ['x', 'w'], output: ['c'], attribute: [ints('pads', [1, 1, 1, 1])] },
      { opType: 'Relu', input: ['c'], output: ['y'] },
    ],
    initializers: [
      onnx.TensorProto.create({
        name: 'w',
        dims: [outputChannels, channels, 3, 3],
        dataType: floatType,
        rawData: new Uint8Array(weights.buffer),
      }),
    ],
  });
}

/** y = x in another element type. */
export function castModel(from: number, to: number, dims: readonly number[]): Uint8Array {
  return modelBytes({
    inputs: [{ name: 'x', elemType: from, dims }],
    outputs: [{ name: 'y', elemType: to, dims }],
    nodes: [{ opType: 'Cast', input: ['x'], output: ['y'], attribute: [int('to', to)] }],
  });
}

function int(name: string, i: number) {
  return { name, type: onnx.AttributeProto.AttributeType.INT, i };
}

function ints(name: string, values: number[]) {
  return { name, type: onnx.AttributeProto.AttributeType.INTS, ints: values };
}
