/** Models that Starling does not read: each is refused in one clear sentence with a code. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel } from '../../compiler/compile.ts';
import type { Graph } from '../../graph/graph.ts';
import { onnx } from '../../graph/proto.ts';
import { type ErrorCode, StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { modelBytes, unnamed } from '../support/dividedAnswer.ts';
import { random } from '../support/operatorCase.ts';

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

const graph: Graph = {
  name: 'plain',
  inputs: [{ name: 'x', dataType: 'float32', shape: [1, 3, 8, 8] }],
  outputs: [{ name: 'y', dataType: 'float32' }],
  nodes: [unnamed('Conv', ['x', 'w'], ['y'])],
  initializers: new Map([['w', random([8, 3, 3, 3])]]),
  values: new Map(),
};

describe('one sentence', () => {
  const plain = () => onnx.ModelProto.decode(modelBytes(graph, 17));
  type Proto = ReturnType<typeof plain>;
  const refusals: Readonly<Record<string, readonly [ErrorCode, RegExp, (proto: Proto) => void]>> = {
    'a function that calls itself': ['MODEL_UNSUPPORTED', /"Own".*itself/, (proto) => {
      const call = { opType: 'Own', domain: 'own', input: ['x'], output: ['y'], attribute: [] };
      proto.functions.push(onnx.FunctionProto.create({ name: 'Own', domain: 'own', input: ['x'], output: ['y'], node: [call] }));
      const [node] = proto.graph?.node ?? [];
      if (node) Object.assign(node, call);
    }],
    'an operator of another domain': ['MODEL_UNSUPPORTED', /com\.example.*Own|Own.*com\.example/, (proto) => {
      proto.opsetImport.push(onnx.OperatorSetIdProto.create({ domain: 'com.example', version: 1 }));
      const [node] = proto.graph?.node ?? [];
      if (node) Object.assign(node, { opType: 'Own', domain: 'com.example', attribute: [] });
    }],
    'a sparse initializer that holds more than it says': ['MODEL_UNREADABLE', /sparse/i, (proto) => {
      const values = { name: 's', dataType: 1, dims: [2], floatData: [1, 2] };
      const indices = { dataType: 7, dims: [1], int64Data: [0] };
      proto.graph?.sparseInitializer?.push(onnx.SparseTensorProto.create({ dims: [3], values, indices }));
    }],
    'an operator that there is not': ['MODEL_UNSUPPORTED', /Unheard/, (proto) => {
      const [node] = proto.graph?.node ?? [];
      if (node) Object.assign(node, { opType: 'Unheard', attribute: [] });
    }],
    'no opset': ['MODEL_UNREADABLE', /ONNX model/i, (proto) => void proto.opsetImport.splice(0)],
    'an opset to come': ['MODEL_UNSUPPORTED', /opset 99/, (proto) => {
      const [opset] = proto.opsetImport;
      if (opset) opset.version = 99;
    }],
    'a value that nobody makes': ['GRAPH_INVALID', /nowhere/, (proto) => {
      const [node] = proto.graph?.node ?? [];
      if (node) node.input = ['nowhere', 'w'];
    }],
  }; // biome-ignore format: a table

  test.each(Object.entries(refusals))('%s', async (_, [code, says, spoil]) => {
    const proto = plain();
    spoil(proto);
    const bytes = onnx.ModelProto.encode(proto).finish();
    const error = await compileModel(bytes, { name: 'odd', numShards: 2, axis: 'channels', backend }).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(StarlingError);
    expect(error).toMatchObject({ code });
    expect(String((error as StarlingError).message)).toMatch(says);
    expect(String((error as StarlingError).message)).not.toMatch(/\n/);
  });
});
