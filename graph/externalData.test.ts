/** Weights in files beside the model, in the ways that exporters write them and that strangers might. */
import { describe, expect, it } from 'vitest';
import { StarlingError } from '../protocol/errors.ts';
import { dataFilesOf } from './externalData.ts';
import { loadModel } from './load.ts';
import { onnx } from './proto.ts';

interface Piece {
  readonly location?: string;
  readonly offset?: string;
  readonly length?: string;
  readonly dims?: readonly number[];
}

type TensorFields = NonNullable<Parameters<typeof onnx.TensorProto.create>[0]>;

function external(name: string, { dims = [2], ...entries }: Piece): TensorFields {
  return {
    name,
    dataType: onnx.TensorProto.DataType.FLOAT,
    dims: [...dims],
    dataLocation: onnx.TensorProto.DataLocation.EXTERNAL,
    externalData: Object.entries(entries).map(([key, value]) => ({ key, value })),
  };
}

type NodeFields = NonNullable<Parameters<typeof onnx.NodeProto.create>[0]>;

function modelWith(pieces: Readonly<Record<string, Piece>>, nodes: readonly NodeFields[] = []): Uint8Array {
  const info = (name: string) => ({
    name,
    type: { tensorType: { elemType: 1, shape: { dim: [{ dimValue: 2 }] } } },
  });
  const message = onnx.ModelProto.create({
    irVersion: 8,
    opsetImport: [{ domain: '', version: 17 }],
    graph: {
      name: 'test',
      input: [info('x')],
      output: [info('y')],
      node: [{ opType: 'Relu', input: ['x'], output: ['y'] }, ...nodes],
      initializer: Object.entries(pieces).map(([name, piece]) => external(name, piece)),
    },
  });
  return onnx.ModelProto.encode(message).finish();
}

const weights = Uint8Array.from({ length: 24 }, (_, i) => i);

function load(
  pieces: Readonly<Record<string, Piece>>,
  files: Readonly<Record<string, Uint8Array>> = { 'w.bin': weights },
) {
  const read: string[] = [];
  const { graph } = loadModel(modelWith(pieces), (path) => {
    read.push(path);
    const file = files[path];
    if (file === undefined) throw new Error('it is not there');
    return file;
  });
  return { read, data: (name: string) => graph.initializers.get(name)?.data };
}

function errorOf(act: () => unknown): string {
  try {
    act();
  } catch (thrown) {
    if (thrown instanceof StarlingError) return `${thrown.code} ${thrown.message}`;
    throw thrown;
  }
  return 'nothing was thrown';
}

describe('external data', () => {
  it('lies at an offset with a length, and each file is read once', () => {
    const { read, data } = load({
      a: { location: 'w.bin', offset: '0', length: '8' },
      b: { location: 'w.bin', offset: '8', length: '8' },
    });
    expect(read).toEqual(['w.bin']);
    expect(data('a')).toEqual(weights.subarray(0, 8));
    expect(data('b')).toEqual(weights.subarray(8, 16));
  });

  it('begins at the start and is as long as the tensor where the file says nothing', () => {
    const { data } = load({
      a: { location: 'w.bin' },
      b: { location: 'w.bin', offset: '16' },
      c: { location: 'w.bin', length: '8' },
    });
    expect(data('a')).toEqual(weights.subarray(0, 8));
    expect(data('b')).toEqual(weights.subarray(16));
    expect(data('c')).toEqual(weights.subarray(0, 8));
  });

  it('may lie in several files and in folders below the model', () => {
    const other = new Uint8Array(8).fill(7);
    const { read, data } = load(
      { a: { location: 'parts/one.bin' }, b: { location: 'w.bin' }, c: { location: 'parts/deep/two.bin' } },
      { 'parts/one.bin': other, 'w.bin': weights, 'parts/deep/two.bin': weights },
    );
    expect(read).toEqual(['parts/one.bin', 'w.bin', 'parts/deep/two.bin']);
    expect(data('a')).toEqual(other);
    expect(data('c')).toEqual(weights.subarray(0, 8));
  });

  it('may be shared by two tensors, which then share its memory', () => {
    const { data } = load({
      a: { location: 'w.bin', offset: '4', length: '8' },
      b: { location: 'w.bin', offset: '4', length: '8', dims: [1, 2] },
      c: { location: 'w.bin', offset: '8', length: '8' },
    });
    expect(data('a')).toEqual(data('b'));
    expect(data('a')?.buffer).toBe(weights.buffer);
    expect(data('c')?.byteOffset).toBe((data('a')?.byteOffset ?? 0) + 4);
  });

  it('may be the value of a Constant', () => {
    const value = {
      name: 'value',
      type: onnx.AttributeProto.AttributeType.TENSOR,
      t: external('', { location: 'c.bin' }),
    };
    const bytes = modelWith({}, [{ opType: 'Constant', output: ['c'], attribute: [value] }]);
    expect(dataFilesOf(bytes)).toEqual(['c.bin']);
    const { nodes } = loadModel(bytes, () => weights).graph;
    expect(nodes.find(({ opType }) => opType === 'Constant')?.attributes.get('value')).toMatchObject({
      value: { data: weights.subarray(0, 8) },
    });
  });

  it('is listed by file', () => {
    const pieces = {
      a: { location: 'w.bin' },
      b: { location: 'parts/v.bin' },
      c: { location: 'w.bin', offset: '8' },
    };
    expect(dataFilesOf(modelWith(pieces))).toEqual(['w.bin', 'parts/v.bin']);
    expect(dataFilesOf(modelWith({}))).toEqual([]);
  });

  it('is never looked for outside of the folder of the model', () => {
    for (const location of [
      '../w.bin',
      'parts/../../w.bin',
      '/etc/passwd',
      '\\\\host\\w.bin',
      'C:\\w.bin',
      '..\\w.bin',
      '',
    ]) {
      expect(
        errorOf(() => load({ a: { location } }, {})),
        location,
      ).toMatch(/^MODEL_UNREADABLE .*outside/);
    }
  });

  it('is refused where the file does not hold it, and where numbers are none', () => {
    const at = (piece: Piece) => errorOf(() => load({ a: { location: 'w.bin', ...piece } }));
    expect(at({ offset: '20', length: '8' })).toMatch(
      /^MODEL_UNREADABLE .*bytes 20 to 28 of w.bin, which has only 24/,
    );
    expect(at({ offset: '99999999999999' })).toMatch(/^MODEL_UNREADABLE .*only 24/);
    expect(at({ length: '12' })).toMatch(/^MODEL_UNREADABLE .*should hold 8 bytes .* holds 12/);
    expect(at({ offset: '-8' })).toMatch(/^MODEL_UNREADABLE .*"-8" as the offset/);
    expect(at({ length: '0x8' })).toMatch(/^MODEL_UNREADABLE .*"0x8" as the length/);
  });

  it('that is missing is named', () => {
    const bytes = modelWith({ a: { location: 'gone.bin' } });
    expect(errorOf(() => loadModel(bytes))).toMatch(
      /^DATA_FILE_MISSING .*"gone.bin" beside it, which was not given/,
    );
    expect(errorOf(() => load({ a: { location: 'gone.bin' } }))).toMatch(
      /^MODEL_UNREADABLE .*"gone.bin".*not there/,
    );
  });
});
