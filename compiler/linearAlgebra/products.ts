/** Products of tall matrices on the inference engine, which is many times faster than scripts. float32 in, float32 out. */
import type { Model } from '../../graph/graph.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import type { Backend, Session } from '../../runtime/backend.ts';

export interface Products {
  /** A' x B of A[rows, m] and B[rows, n]: m x n. */
  transposedProduct(a: Float32Array, b: Float32Array, rows: number): Promise<Float32Array>;
  /** A x B of A[rows, k] and B[k, n]: rows x n. */
  product(a: Float32Array, b: Float32Array, rows: number): Promise<Float32Array>;
  release(): Promise<void>;
}

function gemmModel(transposed: boolean): Model {
  const [a, b] = transposed
    ? [
        ['R', 'M'],
        ['R', 'N'],
      ]
    : [
        ['R', 'K'],
        ['K', 'N'],
      ];
  return {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: '',
    metadata: new Map(),
    graph: {
      name: 'product',
      inputs: [
        { name: 'a', dataType: 'float32', shape: a ?? [] },
        { name: 'b', dataType: 'float32', shape: b ?? [] },
      ],
      outputs: [{ name: 'c', dataType: 'float32', shape: transposed ? ['M', 'N'] : ['R', 'N'] }],
      nodes: [
        {
          name: 'product',
          opType: 'Gemm',
          domain: '',
          inputs: ['a', 'b'],
          outputs: ['c'],
          attributes: new Map(transposed ? [['transA', { type: 'int', value: 1 }]] : []),
        },
      ],
      initializers: new Map(),
      values: new Map(),
    },
  };
}

export async function openProducts(backend: Backend): Promise<Products> {
  const transposed = await backend.createSession(saveModel(gemmModel(true)).bytes);
  const plain = await backend.createSession(saveModel(gemmModel(false)).bytes);
  const multiply = async (
    session: Session,
    a: Float32Array,
    aDims: readonly [number, number],
    b: Float32Array,
    bDims: readonly [number, number],
  ): Promise<Float32Array> => {
    const left = backend.upload(float32Tensor(aDims, a));
    // One upload serves both sides of a Gram matrix.
    const right = a === b ? left : backend.upload(float32Tensor(bDims, b));
    try {
      const outputs = await session.run(
        new Map([
          ['a', left],
          ['b', right],
        ]),
      );
      const handle = outputs.get('c');
      if (handle === undefined) return new Float32Array(0);
      const tensor = await handle.read();
      handle.release();
      return float32View(tensor);
    } finally {
      left.release();
      if (right !== left) right.release();
    }
  };
  return {
    transposedProduct: (a, b, rows) =>
      multiply(transposed, a, [rows, a.length / rows], b, [rows, b.length / rows]),
    product: (a, b, rows) => {
      const inner = a.length / rows;
      return multiply(plain, a, [rows, inner], b, [inner, b.length / inner]);
    },
    async release() {
      await transposed.release();
      await plain.release();
    },
  };
}
