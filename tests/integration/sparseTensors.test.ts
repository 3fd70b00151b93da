/** Weights that a file keeps as sparse tensors: onnxruntime runs the file as it is, and its parts give the same answer. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import type { Graph } from '../../graph/graph.ts';
import { loadModel } from '../../graph/load.ts';
import { onnx } from '../../graph/proto.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { float32Tensor, float32View, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { answers, modelBytes, unnamed } from '../support/dividedAnswer.ts';
import { int, ints, random } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

/** Every third element is there. */
function thinned(dims: readonly number[]): Tensor {
  return float32Tensor(
    dims,
    float32View(random(dims)).map((value, i) => (i % 3 === 0 ? value : 0)),
  );
}

const graph: Graph = {
  name: 'sparse',
  inputs: [{ name: 'x', dataType: 'float32', shape: [1, 3, 8, 8] }],
  outputs: [{ name: 'y', dataType: 'float32' }],
  nodes: [
    unnamed('Conv', ['x', 'w'], ['a'], { pads: ints(1, 1, 1, 1) }),
    unnamed('Constant', [], ['c'], { value: { type: 'tensor', value: thinned([8, 1, 1]) } }),
    unnamed('Add', ['a', 'c'], ['b']),
    unnamed('Flatten', ['b'], ['f'], { axis: int(1) }),
    unnamed('Gemm', ['f', 'v'], ['y']),
  ],
  initializers: new Map([
    ['w', thinned([8, 3, 3, 3])],
    ['v', thinned([512, 5])],
  ]),
  values: new Map(),
};

/** `coordinates`: one row of them a value instead of one position. */
function sparseOf(name: string, { dims, ...tensor }: Tensor, coordinates: boolean) {
  const elements = [...float32View({ dims, ...tensor })];
  const positions = elements.flatMap((value, i) => (value === 0 ? [] : [i]));
  const rows = positions.flatMap((position) => {
    let rest = position;
    return dims.map((_, axis) => {
      const below = dims.slice(axis + 1).reduce((product, dim) => product * dim, 1);
      const at = Math.floor(rest / below);
      rest -= at * below;
      return at;
    });
  });
  const indices = coordinates ? int64Tensor(rows, [positions.length, dims.length]) : int64Tensor(positions);
  return {
    dims: [...dims],
    values: {
      name,
      dataType: 1,
      dims: [positions.length],
      floatData: positions.map((i) => elements[i] ?? 0),
    },
    indices: { dataType: 7, dims: [...indices.dims], rawData: indices.data },
  };
}

/** The same file with its tensors sparse. */
function sparseBytes(coordinates: boolean): Uint8Array {
  const proto = onnx.ModelProto.decode(modelBytes(graph, 17));
  const top = proto.graph;
  if (top == null) throw new Error('The test needs a graph.');
  top.initializer = [];
  top.sparseInitializer = [...graph.initializers].map(([name, tensor]) =>
    sparseOf(name, tensor, coordinates),
  );
  for (const node of top.node ?? []) {
    const constant = graph.nodes.find(({ opType }) => opType === 'Constant')?.attributes.get('value');
    if (node.opType !== 'Constant' || constant?.type !== 'tensor') continue;
    node.attribute = [
      { name: 'sparse_value', type: 11, sparseTensor: sparseOf('', constant.value, coordinates) },
    ];
  }
  return onnx.ModelProto.encode(proto).finish();
}

let backend: Backend;
beforeAll(async () => {
  backend = await createHeapBackend();
});

describe.each([
  ['positions', false],
  ['coordinates', true],
])('by %s', (_, coordinates) => {
  test('reads what the dense file holds', () => {
    const sparse = loadModel(sparseBytes(coordinates));
    const dense = loadModel(modelBytes(graph, 17));
    expect(sparse.graph.initializers).toEqual(dense.graph.initializers);
    expect(sparse.graph.nodes.map(({ attributes }) => attributes)).toEqual(
      dense.graph.nodes.map(({ attributes }) => attributes),
    );
  });

  test.each(['channels', 'rows'] as const)('divided by %s', async (axis) => {
    const x = randomTensor('float32', [1, 3, 8, 8], seededRandom(5));
    const { expected, outputs } = await answers(
      backend,
      sparseBytes(coordinates),
      { x },
      { numShards: 3, axis },
    );
    expect(tensorDifference(expected['y'] ?? x, outputs['y'])).toBeUndefined();
  });
});
