/** Builds networks with random weights as ONNX graphs: layers with He's or Glorot's deviations from a seed. No training. */
import { float, GraphBuilder, int, ints, type Ref } from '../../compiler/train/autodiff/graphBuilder.ts';
import type { Graph } from '../../graph/graph.ts';
import { normal, seededRandom } from '../../graph/random.ts';
import { elementCount, float32Tensor, int64Tensor } from '../../graph/tensor.ts';

const pictureShape = [1, 3, 32, 32] as const;
export const numClasses = 10;

export class NetworkBuilder {
  readonly #builder = new GraphBuilder(['pictures', 'logits'], 'layer');
  readonly #random: () => number;
  readonly input: Ref = { name: 'pictures', shape: pictureShape };

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  /** Square kernels; keeps height and width, or divides them by the stride. */
  conv(x: Ref, channels: number, kernel: number, stride = 1): Ref {
    const [n = 1, inputs = 1, height = 1, width = 1] = x.shape;
    const weight = this.#weight(
      'kernel',
      [channels, inputs, kernel, kernel],
      Math.sqrt(2 / (inputs * kernel ** 2)),
    );
    const margin = kernel >> 1;
    return this.#builder.node(
      'Conv',
      [x, weight, this.#weight('bias', [channels], 0)],
      {
        kernel_shape: ints([kernel, kernel]),
        strides: ints([stride, stride]),
        pads: ints([margin, margin, margin, margin]),
      },
      [n, channels, Math.ceil(height / stride), Math.ceil(width / stride)],
    );
  }

  relu(x: Ref): Ref {
    return this.#builder.unary('Relu', x);
  }

  add(a: Ref, b: Ref): Ref {
    return this.#builder.add(a, b);
  }

  /** The largest of every 2 x 2. */
  halve(x: Ref): Ref {
    const [n = 1, channels = 1, height = 1, width = 1] = x.shape;
    const attributes = { kernel_shape: ints([2, 2]), strides: ints([2, 2]) };
    return this.#builder.node('MaxPool', [x], attributes, [n, channels, height >> 1, width >> 1]);
  }

  /** [n, channels, height, width] to [n, channels]. */
  pool(x: Ref): Ref {
    const [n = 1, channels = 1] = x.shape;
    const mean = this.#builder.node('GlobalAveragePool', [x], {}, [n, channels, 1, 1]);
    return this.#builder.node('Flatten', [mean], { axis: int(1) }, [n, channels]);
  }

  /** Of [n, inputs]. */
  head(x: Ref): Ref {
    const weight = this.#weight('head', [numClasses, x.shape[1] ?? 1], 0.01);
    const bias = this.#weight('bias', [numClasses], 0);
    return this.#builder.node('Gemm', [x, weight, bias], { transB: int(1) }, [x.shape[0] ?? 1, numClasses], {
      name: 'logits',
    });
  }

  /** Along the last axis. */
  linear(x: Ref, outputs: number): Ref {
    const inputs = x.shape.at(-1) ?? 1;
    const weight = this.#weight('matrix', [inputs, outputs], Math.sqrt(1 / inputs));
    return this.#builder.add(this.#builder.matMul(x, weight), this.#weight('bias', [outputs], 0));
  }

  layerNorm(x: Ref): Ref {
    const width = [x.shape.at(-1) ?? 1];
    const scale = this.#constant('scale', width, () => 1);
    const attributes = { axis: int(-1), epsilon: float(1e-5) };
    return this.#builder.node(
      'LayerNormalization',
      [x, scale, this.#weight('shift', width, 0)],
      attributes,
      x.shape,
    );
  }

  /** Exact, by the error function. */
  gelu(x: Ref): Ref {
    const b = this.#builder;
    const half = b.mul(x, b.scalar(0.5));
    return b.mul(half, b.add(b.unary('Erf', b.mul(x, b.scalar(Math.SQRT1_2))), b.scalar(1)));
  }

  softmax(x: Ref): Ref {
    return this.#builder.unary('Softmax', x, { axis: int(-1) });
  }

  matMul(a: Ref, b: Ref): Ref {
    return this.#builder.matMul(a, b);
  }

  scale(x: Ref, factor: number): Ref {
    return this.#builder.scale(x, factor);
  }

  transpose(x: Ref, perm: readonly number[]): Ref {
    return this.#builder.transpose(x, perm);
  }

  /** `dims` as ONNX has them: 0 keeps a length, so that batches of any size pass. */
  reshape(x: Ref, dims: readonly number[]): Ref {
    const shape = dims.map((dim, axis) => (dim === 0 ? (x.shape[axis] ?? 1) : dim));
    return this.#builder.node('Reshape', [x, this.#builder.constant(int64Tensor(dims))], {}, shape);
  }

  /** The mean over one axis, which goes. */
  mean(x: Ref, axis: number): Ref {
    return this.#builder.reduceWith('ReduceMean', x, [axis], false);
  }

  /** Learned numbers that are added to every sample. */
  offset(x: Ref): Ref {
    return this.#builder.add(x, this.#weight('offset', [1, ...x.shape.slice(1)], 0.02));
  }

  /** `logits` must have been made, by `head`. */
  graph(name: string): Graph {
    const { nodes, constants, values } = this.#builder;
    return {
      name,
      inputs: [{ name: 'pictures', dataType: 'float32', shape: pictureShape }],
      outputs: [{ name: 'logits', dataType: 'float32', shape: [1, numClasses] }],
      nodes: [...nodes],
      initializers: new Map(constants),
      values: new Map([...values].filter(([value]) => value !== 'logits')),
    };
  }

  #weight(hint: string, dims: readonly number[], deviation: number): Ref {
    return this.#constant(hint, dims, () => (deviation === 0 ? 0 : deviation * normal(this.#random)));
  }

  /** Never shared, however alike: each is trained by itself. */
  #constant(hint: string, dims: readonly number[], value: () => number): Ref {
    const name = this.#builder.freshName(hint);
    const data = Array.from({ length: elementCount(dims) }, value);
    this.#builder.constants.set(name, float32Tensor(dims, data));
    return { name, shape: dims };
  }
}
