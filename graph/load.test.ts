import { describe, expect, it } from 'vitest';
import { StarlingError } from '../protocol/errors.ts';
import { loadModel } from './load.ts';
import { printGraph } from './print.ts';
import { onnx, toInt64 } from './proto.ts';
import { saveModel } from './save.ts';
import { float32Tensor, int64Tensor, readIntegers, type Tensor } from './tensor.ts';

const types = onnx.TensorProto.DataType;

type GraphFields = NonNullable<Parameters<typeof onnx.GraphProto.create>[0]>;

/** A file as another exporter could write it: one Relu, and whatever the test adds. */
function file(graph: GraphFields = {}, model: object = {}): Uint8Array {
  const message = onnx.ModelProto.create({
    irVersion: 8,
    opsetImport: [{ domain: '', version: 13 }],
    graph: {
      name: 'test',
      input: [floatInfo('x')],
      output: [floatInfo('y')],
      node: [{ opType: 'Relu', input: ['x'], output: ['y'] }],
      ...graph,
    },
    ...model,
  });
  return onnx.ModelProto.encode(message).finish();
}

function floatInfo(name: string) {
  return {
    name,
    type: { tensorType: { elemType: 1, shape: { dim: [{ dimParam: 'N' }, { dimValue: 3 }, {}] } } },
  };
}

function codeOf(act: () => unknown): string {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof StarlingError) return `${thrown.code}: ${thrown.message}`;
    throw thrown;
  }
  return 'nothing thrown';
}

function initializer(fields: object): Tensor | undefined {
  return loadModel(file({ initializer: [{ name: 'w', ...fields }] })).graph.initializers.get('w');
}

describe('loadModel', () => {
  it('reads typed fields of every data type', () => {
    expect(initializer({ dataType: types.FLOAT, dims: [2], floatData: [1.5, -2] })).toEqual(
      float32Tensor([2], [1.5, -2]),
    );
    expect(initializer({ dataType: types.INT64, dims: [2], int64Data: [-1, 7] })).toEqual(
      int64Tensor([-1, 7]),
    );
    const cases = [
      [types.INT8, 'int8', { int32Data: [-3, 4] }, [-3, 4]],
      [types.UINT8, 'uint8', { int32Data: [255, 4] }, [255, 4]],
      [types.INT16, 'int16', { int32Data: [-300, 4] }, [-300, 4]],
      [types.UINT16, 'uint16', { int32Data: [65535, 4] }, [65535, 4]],
      [types.INT32, 'int32', { int32Data: [-70000, 4] }, [-70000, 4]],
      [types.UINT32, 'uint32', { uint64Data: [4294967295, 4] }, [4294967295, 4]],
      [types.UINT64, 'uint64', { uint64Data: [2 ** 40, 4] }, [2 ** 40, 4]],
      [types.BOOL, 'bool', { int32Data: [1, 0] }, [1, 0]],
    ] as const;
    for (const [dataType, name, data, expected] of cases) {
      const tensor = initializer({ dataType, dims: [2], ...data });
      expect(tensor?.dataType).toBe(name);
      expect(tensor && readIntegers(tensor)).toEqual(expected);
    }
    expect(initializer({ dataType: types.FLOAT16, dims: [1], int32Data: [0x3c00] })?.data).toEqual(
      Uint8Array.of(0, 0x3c),
    );
    expect(initializer({ dataType: types.DOUBLE, dims: [], doubleData: [0.1] })?.data).toEqual(
      new Uint8Array(Float64Array.of(0.1).buffer),
    );
    const text = initializer({ dataType: types.STRING, dims: [1], stringData: [Uint8Array.of(104, 105)] });
    expect(text?.strings?.map((bytes) => new TextDecoder().decode(bytes))).toEqual(['hi']);
  });

  it('keeps all bits of int64', () => {
    const value = BigInt.asIntN(64, 0x7123456789abcdefn);
    const raw = new Uint8Array(BigInt64Array.of(value).buffer);
    const typed = loadModel(
      onnx.ModelProto.encode(
        onnx.ModelProto.decode(
          file({
            initializer: [{ name: 'w', dataType: types.INT64, dims: [1], int64Data: [toInt64(2 ** 63)] }],
          }),
        ),
      ).finish(),
    ).graph.initializers.get('w');
    expect(typed && new BigInt64Array(typed.data.slice().buffer)[0]).toBe(2n ** 63n - 1n);
    expect(initializer({ dataType: types.INT64, dims: [1], rawData: raw })?.data).toEqual(raw);
  });

  it('gives raw data as a view into the file', () => {
    const bytes = file({
      initializer: [{ name: 'w', dataType: types.FLOAT, dims: [4], rawData: new Uint8Array(16).fill(3) }],
    });
    const tensor = loadModel(bytes).graph.initializers.get('w');
    expect(tensor?.data.buffer).toBe(bytes.buffer);
  });

  it('takes initializers out of the inputs, names nodes, sorts them', () => {
    const model = loadModel(
      file(
        {
          input: [floatInfo('x'), floatInfo('w')],
          initializer: [{ name: 'w', dataType: types.FLOAT, dims: [1], floatData: [1] }],
          node: [
            { opType: 'Add', input: ['a', 'b'], output: ['y'], name: 'same' },
            { opType: 'Relu', input: ['x'], output: ['a'] },
            { opType: 'Mul', input: ['a', 'w'], output: ['b'], name: 'same' },
          ],
        },
        { irVersion: 3 },
      ),
    );
    expect(model.graph.inputs.map((input) => input.name)).toEqual(['x']);
    expect(model.graph.inputs[0]?.shape).toEqual(['N', 3, null]);
    expect(model.graph.overridable).toBeUndefined();
    expect(model.graph.nodes.map((node) => [node.name, node.opType])).toEqual([
      ['Relu_1', 'Relu'],
      ['same_2', 'Mul'],
      ['same', 'Add'],
    ]);
  });

  it('keeps subgraphs, and orders their captures', () => {
    const branch = (name: string) => ({
      name,
      output: [{ name: `${name}_out` }],
      node: [{ opType: 'Identity', input: ['a'], output: [`${name}_out`] }],
    });
    const node = [
      {
        opType: 'If',
        input: ['c'],
        output: ['y'],
        attribute: [
          { name: 'then_branch', type: 5, g: branch('t') },
          { name: 'else_branch', type: 5, g: branch('e') },
        ],
      },
      { opType: 'Relu', input: ['x'], output: ['a'] },
    ];
    const initializer = [{ name: 'c', dataType: types.BOOL, dims: [], int32Data: [1] }];
    const model = loadModel(file({ node, initializer }));
    expect(model.graph.nodes.map((n) => n.opType)).toEqual(['Relu', 'If']);
    expect(loadModel(saveModel(model).bytes)).toEqual(model);
    expect(printGraph(model.graph)).toContain('      graph t\n        t_out = Identity(a)  # Identity_0\n');
  });

  it('refuses with a code and one sentence', () => {
    const cases: readonly (readonly [Uint8Array, RegExp])[] = [
      [new Uint8Array(), /^MODEL_UNREADABLE.*empty/],
      [new TextEncoder().encode('<!DOCTYPE html><html><body>Not found'), /^MODEL_UNREADABLE.*web page/],
      [new TextEncoder().encode('{"modelTopology": {}}'), /^MODEL_UNREADABLE.*JSON/],
      [new TextEncoder().encode('The quick brown fox jumps over the lazy dog.'), /^MODEL_UNREADABLE.*text/],
      [
        new TextEncoder().encode('version https://git-lfs.github.com/spec/v1\noid sha256:00'),
        /^MODEL_UNREADABLE.*LFS/,
      ],
      [Uint8Array.of(0x50, 0x4b, 3, 4, 0, 0), /^MODEL_UNREADABLE.*zip/],
      [file().subarray(0, 30), /^MODEL_UNREADABLE/],
      [file({}, { opsetImport: [{ domain: '', version: 5 }] }), /^MODEL_UNSUPPORTED.*opset 5/],
      [file({}, { opsetImport: [{ domain: '', version: 99 }] }), /^MODEL_UNSUPPORTED.*opset 99/],
      [
        file({ node: [{ opType: 'F', domain: 'x.y', input: ['x'], output: ['y'] }] }),
        /^MODEL_UNSUPPORTED.*"F_0".*"x.y"/,
      ],
      [file({ node: [{ opType: 'Relu', input: ['z'], output: ['y'] }] }), /^GRAPH_INVALID.*"Relu_0".*"z"/],
      [file({ node: [{ opType: 'Relu', input: ['y'], output: ['y'] }] }), /^GRAPH_INVALID.*cycle/],
      [file({ node: [] }), /^GRAPH_INVALID.*"y"/],
      [
        file({ initializer: [{ name: 'w', dataType: types.FLOAT, dims: [3], rawData: new Uint8Array(8) }] }),
        /^MODEL_UNREADABLE.*"w".*12.*8/,
      ],
      [file({ initializer: [{ name: 'w', dataType: types.FLOAT, dims: [-3] }] }), /^MODEL_UNREADABLE.*"w"/],
      [
        file({ initializer: [{ name: 'w', dataType: types.COMPLEX64, dims: [1] }] }),
        /^MODEL_UNSUPPORTED.*"w".*complex64/,
      ],
      [
        file({
          node: [
            { opType: 'Relu', input: ['x'], output: ['y'], attribute: [{ name: 'axis', type: 1, f: 1 }] },
          ],
        }),
        /^GRAPH_INVALID.*"axis"/,
      ],
    ];
    for (const [bytes, expected] of cases) {
      const message = codeOf(() => loadModel(bytes));
      expect(message).toMatch(expected);
      expect(message).not.toMatch(/\n/);
    }
  });

  it('finds a reference that was saved without data', () => {
    const base = loadModel(file());
    const w = { dataType: 'float32', dims: [2], path: 'all.bin', offset: 4, bytes: 8 } as const;
    const { bytes } = saveModel(base, { externalInitializers: new Map([['w', w]]) });
    const all = Uint8Array.from({ length: 16 }, (_, i) => i);
    expect(loadModel(bytes, () => all).graph.initializers.get('w')?.data).toEqual(all.subarray(4, 12));
  });
});
