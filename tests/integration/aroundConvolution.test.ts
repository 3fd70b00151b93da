/** Every operator with a rule between two convolutions: divided over three devices it computes what it computes whole. */
import { beforeAll, describe, expect, test } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { compileModel, type DivisionAxis } from '../../compiler/compile.ts';
import { openLocalRoom } from '../../compiler/measure/localRoom.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { openPlan } from '../../runtime/plan.ts';
import { fileWeights } from '../../runtime/weights/blob.ts';
import { float, int, ints, random, text } from '../support/operatorCase.ts';
import { tensorDifference } from '../support/tensorDifference.ts';

interface Middle {
  readonly opType: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
  /** Inputs beside the convolution's output [1, 8, 12, 10]: constants, or 'same' for that output again. */
  readonly others?: readonly (Tensor | 'same' | null)[];
  /** Whether the output is a map [1, 8, ...] again, on which a second convolution can follow. */
  readonly map?: boolean;
  readonly name?: string;
}

const column = (...values: number[]) => int64Tensor(values);
const floats = (...values: number[]) => float32Tensor([values.length], values);

const middles: readonly Middle[] = [
  { opType: 'Conv', attributes: { group: int(4), pads: ints(1, 1, 1, 1) }, others: [random([8, 2, 3, 3])], map: true },
  { opType: 'ConvTranspose', attributes: { strides: ints(2, 2) }, others: [random([8, 8, 3, 3])], map: true },
  { opType: 'MaxPool', attributes: { kernel_shape: ints(3, 3), strides: ints(2, 2), pads: ints(1, 1, 1, 1) }, map: true },
  { opType: 'AveragePool', attributes: { kernel_shape: ints(3, 3), auto_pad: text('SAME_UPPER') }, map: true },
  { opType: 'GlobalAveragePool', map: true },
  { opType: 'Relu', map: true },
  { opType: 'PRelu', others: [random([8, 1, 1])], map: true },
  { opType: 'Mul', others: ['same'], map: true },
  { opType: 'Resize', name: 'Resize nearest', attributes: { mode: text('nearest') }, others: [null, floats(1, 1, 2, 2)], map: true },
  { opType: 'Resize', name: 'Resize linear', attributes: { mode: text('linear') }, others: [null, floats(1, 1, 2, 2)], map: true },
  { opType: 'Resize', name: 'Resize aligned', attributes: { mode: text('linear'), coordinate_transformation_mode: text('align_corners') }, others: [null, null, column(1, 8, 17, 13)], map: true },
  { opType: 'Resize', name: 'Resize cubic', attributes: { mode: text('cubic') }, others: [null, floats(1, 1, 1.5, 1.5)], map: true },
  { opType: 'DepthToSpace', attributes: { blocksize: int(2) } },
  { opType: 'SpaceToDepth', attributes: { blocksize: int(2) } },
  { opType: 'Concat', attributes: { axis: int(1) }, others: ['same'] },
  { opType: 'Slice', others: [column(0, 1), column(8, 11), column(1, 2), column(1, 2)], map: true },
  { opType: 'Slice', name: 'Slice backwards', others: [column(-1), column(-100), column(2), column(-1)], map: true },
  { opType: 'Pad', attributes: { mode: text('reflect') }, others: [column(0, 0, 2, 1, 0, 0, 2, 1)], map: true },
  { opType: 'Pad', name: 'Pad with zeros', others: [column(0, 0, 2, 1, 0, 0, 2, 1)], map: true },
  { opType: 'Transpose', attributes: { perm: ints(0, 2, 3, 1) } },
  { opType: 'Reshape', others: [column(1, 2, 4, 12, 10)] },
  { opType: 'Reshape', name: 'Reshape to tokens', others: [column(1, 8, 120)] },
  { opType: 'Flatten' },
  { opType: 'Gather', attributes: { axis: int(1) }, others: [column(7, 1, 1, 4, 0, 2, 3, 5)], map: true },
  { opType: 'Gather', name: 'Gather rows', attributes: { axis: int(2) }, others: [column(0, 11, 5)], map: true },
  { opType: 'Tile', others: [column(1, 1, 2, 1)], map: true },
  { opType: 'Softmax', attributes: { axis: int(1) }, map: true },
  { opType: 'Softmax', name: 'Softmax along columns', attributes: { axis: int(3) }, map: true },
  { opType: 'InstanceNormalization', others: [random([8]), random([8])], map: true },
  { opType: 'LayerNormalization', attributes: { axis: int(-1) }, others: [random([10]), random([10])], map: true },
  { opType: 'LRN', attributes: { size: int(3) }, map: true },
  { opType: 'LpNormalization', attributes: { axis: int(1) }, map: true },
  { opType: 'ReduceMean', attributes: { axes: ints(1) } },
  { opType: 'ReduceMax', attributes: { axes: ints(2, 3) }, map: true },
  { opType: 'ArgMax', attributes: { axis: int(1) } },
  { opType: 'CumSum', others: [int64Tensor([3], [])], map: true },
  { opType: 'MatMul', others: [random([10, 6])], map: true },
  { opType: 'MatMul', name: 'MatMul from the left', others: [random([1, 8, 10, 7])], map: true },
  { opType: 'Einsum', attributes: { equation: text('nchw,cd->ndhw') }, others: [random([8, 8])], map: true },
  { opType: 'Expand', others: [column(1, 8, 12, 10)], map: true },
  { opType: 'Split', attributes: { axis: int(1) }, others: [column(2, 6)] },
  { opType: 'HardSwish', map: true },
  { opType: 'Clip', others: [float32Tensor([], [-0.1]), float32Tensor([], [0.2])], map: true },
  { opType: 'LeakyRelu', attributes: { alpha: float(0.1) }, map: true },
  { opType: 'TopK', name: 'TopK, which has no rule', others: [column(3)] },
]; // biome-ignore format: a table

function node(
  opType: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Middle['attributes'] = {},
): Node {
  return {
    name: outputs[0] ?? '',
    opType,
    domain: '',
    inputs,
    outputs,
    attributes: new Map(Object.entries(attributes)),
  };
}

function networkAround({ opType, attributes, others = [], map = false }: Middle): Uint8Array {
  const pads = { pads: ints(1, 1, 1, 1) };
  const initializers = new Map<string, Tensor>([['w0', random([8, 3, 3, 3])]]);
  const inputs = others.map((other, i) => {
    if (other === null) return '';
    if (other === 'same') return 'a';
    initializers.set(`c${i}`, other);
    return `c${i}`;
  });
  const outputs = opType === 'Split' || opType === 'TopK' ? ['b', 'b2'] : ['b'];
  const nodes = [node('Conv', ['x', 'w0'], ['a'], pads), node(opType, ['a', ...inputs], outputs, attributes)];
  if (map) {
    initializers.set('w1', random([6, 8, 3, 3]));
    nodes.push(node('Conv', ['b', 'w1'], ['y'], pads));
  }
  const dataType = opType === 'ArgMax' ? 'int64' : 'float32';
  const graph: Graph = {
    name: 'around',
    inputs: [{ name: 'x', dataType: 'float32', shape: [1, 3, 12, 10] }],
    outputs: [{ name: map ? 'y' : 'b', dataType }],
    nodes,
    initializers,
    values: new Map(),
  };
  const opsets = new Map([['', 17]]);
  return saveModel({ irVersion: 8, opsets, producer: '', metadata: new Map(), graph }).bytes;
}

const axes: readonly DivisionAxis[] = ['channels', 'rows'];

describe.each(axes)('by %s', (axis) => {
  let backend: Backend;
  beforeAll(async () => {
    backend = await createHeapBackend();
  });

  test.each(middles.map((middle) => [middle.name ?? middle.opType, middle] as const))(
    '%s',
    async (name, middle) => {
      const bytes = networkAround(middle);
      const x = randomTensor('float32', [1, 3, 12, 10], seededRandom(3));
      const session = await backend.createSession(bytes);
      const expected = await runWhole(session, backend, { x });
      await session.release();
      const { files } = await compileModel(bytes, { name, numShards: 3, axis, backend });
      const read = async (path: string) => files.get(path) ?? new Uint8Array();
      const plan = await openPlan(read);
      const weights = fileWeights(plan, await Promise.all(plan.file.weights.map(({ path }) => read(path))));
      const room = await openLocalRoom({
        planOf: () => ({
          model: plan.model,
          division: plan.division,
          openBatch: false,
          weights,
          warmUp: false,
        }),
        placement: [[0], [1], [2]],
        backend,
        random: seededRandom(1),
      });
      const { outputs } = await room.run({ x });
      await room.close();
      for (const [output, tensor] of Object.entries(expected)) {
        expect(tensorDifference(tensor, outputs[output]), output).toBeUndefined();
      }
    },
  );
});
