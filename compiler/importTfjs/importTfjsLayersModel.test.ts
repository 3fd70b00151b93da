import { describe, expect, it } from 'vitest';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { saveModel } from '../../graph/save.ts';
import { float32Tensor, float32View } from '../../graph/tensor.ts';
import { importTfjsLayersModel } from './importTfjsLayersModel.ts';

interface LayerSketch {
  readonly name: string;
  readonly className: string;
  readonly config?: Readonly<Record<string, unknown>>;
  readonly inputs: readonly string[];
}

interface WeightSketch {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

function sketch(channels: number, layers: readonly LayerSketch[], weights: readonly WeightSketch[] = []) {
  const input = {
    class_name: 'InputLayer',
    name: 'x',
    config: { name: 'x', batch_input_shape: [null, null, null, channels] },
    inbound_nodes: [],
  };
  const json = {
    format: 'layers-model',
    modelTopology: {
      model_config: {
        class_name: 'Functional',
        config: {
          name: 'sketch',
          layers: [
            ...layers.map(({ name, className, config, inputs }) => ({
              class_name: className,
              name,
              config: { name, ...config },
              inbound_nodes: [inputs.map((from) => [from, 0, 0, {}])],
            })),
            input,
          ],
          input_layers: [['x', 0, 0]],
          output_layers: [[layers.at(-1)?.name, 0, 0]],
        },
      },
    },
    weightsManifest: [
      { paths: ['w.bin'], weights: weights.map(({ name, shape }) => ({ name, shape, dtype: 'float32' })) },
    ],
  };
  const bytes = new Uint8Array(Float32Array.from(weights.flatMap(({ values }) => values)).buffer);
  return { json, bytes };
}

/** Runs a sketch on one 2 x 2 picture given in TF's order (pixel by pixel); the answer comes in ONNX's. */
async function run(made: ReturnType<typeof sketch>, pixels: readonly (readonly number[])[], width = 2) {
  const backend = await createHeapBackend();
  const session = await backend.createSession(saveModel(importTfjsLayersModel(made.json, made.bytes)).bytes);
  const channels = pixels[0]?.length ?? 0;
  const planes = Array.from({ length: channels }, (_, c) => pixels.map((pixel) => pixel[c] ?? 0)).flat();
  const input = backend.upload(float32Tensor([1, channels, pixels.length / width, width], planes));
  const [output] = (await session.run(new Map([['x', input]]))).values();
  if (output === undefined) throw new Error('The session gave no output.');
  const tensor = await output.read();
  return { dims: tensor.dims, values: [...float32View(tensor)] };
}

const oneToFour = [[1], [2], [3], [4]];

describe('importTfjsLayersModel', () => {
  it('turns kernels from height, width, in, out and pads "same" with the odd pixel at the end', async () => {
    // A 2 x 2 kernel with "same" reads the pixel itself, its right, lower and lower right neighbours.
    const made = sketch(
      1,
      [{ name: 'c', className: 'Conv2D', config: { padding: 'same', activation: 'relu' }, inputs: ['x'] }],
      [
        { name: 'c/kernel', shape: [2, 2, 1, 2], values: [1, -1, 10, -1, 100, -1, 1000, -1] },
        { name: 'c/bias', shape: [2], values: [0.5, 3] },
      ],
    );
    const { dims, values } = await run(made, oneToFour);
    expect(dims).toEqual([1, 2, 2, 2]);
    expect(values).toEqual([4321.5, 402.5, 43.5, 4.5, 0, 0, 0, 0]);
  });

  it('keeps the channel order of depthwise convolutions with a multiplier', async () => {
    const made = sketch(
      2,
      [{ name: 'd', className: 'DepthwiseConv2D', config: { use_bias: false }, inputs: ['x'] }],
      [{ name: 'd/depthwise_kernel', shape: [1, 1, 2, 2], values: [1, 2, 3, 4] }],
    );
    const { values } = await run(made, [[1, 10]], 1);
    expect(values).toEqual([1, 2, 30, 40]);
  });

  it('reads strides with "same" as TF does: the padding starts at the end', async () => {
    const made = sketch(
      1,
      [
        {
          name: 'c',
          className: 'Conv2D',
          config: { padding: 'same', strides: [2, 2], use_bias: false },
          inputs: ['x'],
        },
      ],
      [{ name: 'c/kernel', shape: [3, 3, 1, 1], values: [1, 0, 0, 0, 0, 0, 0, 0, 0] }],
    );
    // On 4 x 4 the total padding is 1, all of it below and on the right: the corner tap reads pixels 0, 2, 8, 10.
    const { values } = await run(
      made,
      Array.from({ length: 16 }, (_, i) => [i]),
      4,
    );
    expect(values).toEqual([0, 2, 8, 10]);
  });

  it('shuffles pixels as depthToSpace does', async () => {
    const made = sketch(8, [{ name: 's', className: 'PixelShuffle2x', config: { scale: 2 }, inputs: ['x'] }]);
    // Channel (row * 2 + column) * 2 + c of the pixel goes to (row, column), channel c.
    const { dims, values } = await run(made, [[0, 1, 2, 3, 4, 5, 6, 7]], 1);
    expect(dims).toEqual([1, 2, 2, 2]);
    expect(values).toEqual([0, 2, 4, 6, 1, 3, 5, 7]);
  });

  it('gives each pixel size x size copies', async () => {
    const made = sketch(1, [
      {
        name: 'u',
        className: 'UpSampling2D',
        config: { size: [1, 3], interpolation: 'nearest' },
        inputs: ['x'],
      },
    ]);
    const { values } = await run(made, oneToFour);
    expect(values).toEqual([1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]);
  });

  it('joins channels, adds more than two values, scales, and applies the activations', async () => {
    const made = sketch(
      2,
      [
        { name: 'leaky', className: 'LeakyReLU', config: { alpha: 0.5 }, inputs: ['x'] },
        { name: 'p', className: 'PReLU', inputs: ['x'] },
        { name: 'six', className: 'ReLU', config: { max_value: 6 }, inputs: ['x'] },
        { name: 'beta', className: 'MultiplyBeta', config: { beta: 0.25 }, inputs: ['x'] },
        { name: 'sum', className: 'Add', inputs: ['leaky', 'p', 'six'] },
        { name: 'both', className: 'Concatenate', config: { axis: -1 }, inputs: ['sum', 'beta'] },
      ],
      [{ name: 'p/alpha', shape: [1, 1, 2], values: [10, 100] }],
    );
    const { values } = await run(made, [[-2, 8]], 1);
    expect(values).toEqual([-1 - 20 + 0, 8 + 8 + 6, -0.5, 2]);
  });

  it('reads a Sequential model, whose layers name no inputs', async () => {
    const layers = [
      { class_name: 'ReLU', config: { name: 'r', batch_input_shape: [null, null, null, 1] } },
      { class_name: 'Rescaling', config: { name: 's', scale: 2, offset: 1 } },
    ];
    const json = {
      modelTopology: { model_config: { class_name: 'Sequential', config: { layers } } },
      weightsManifest: [],
    };
    const model = importTfjsLayersModel(json, new Uint8Array());
    expect(model.graph.inputs).toEqual([{ name: 'input', dataType: 'float32', shape: ['N', 1, 'H', 'W'] }]);
    expect(model.graph.nodes.map((node) => node.opType)).toEqual(['Relu', 'Mul', 'Add']);
  });

  it('refuses what it cannot honour by the name and the class of the layer', () => {
    const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, RegExp])[] = [
      ['Lambda', {}, /^Layer odd \(Lambda\).*function/],
      ['GlobalMagic', {}, /^Layer odd \(GlobalMagic\)/],
      ['constructor', {}, /^Layer odd \(constructor\)/],
      ['Activation', { activation: 'mystery' }, /^Layer odd \(Activation\).*mystery/],
      ['UpSampling2D', { interpolation: 'bilinear' }, /^Layer odd \(UpSampling2D\).*bilinear/],
      ['PixelShuffle2x', { scale: 2 }, /^Layer odd \(PixelShuffle2x\).*3 channels/],
    ];
    for (const [className, config, message] of cases) {
      const { json, bytes } = sketch(3, [{ name: 'odd', className, config, inputs: ['x'] }]);
      expect(() => importTfjsLayersModel(json, bytes)).toThrowError(
        expect.objectContaining({ code: 'MODEL_UNSUPPORTED', message: expect.stringMatching(message) }),
      );
    }
  });

  it('says what is wrong with a damaged model', () => {
    const conv = { name: 'c', className: 'Conv2D', config: { use_bias: false }, inputs: ['x'] };
    const kernel = { name: 'c/kernel', shape: [1, 1, 1, 1], values: [1] };
    const { json, bytes } = sketch(1, [conv], [kernel]);
    const unreadable = (message: RegExp) =>
      expect.objectContaining({ code: 'MODEL_UNREADABLE', message: expect.stringMatching(message) });
    expect(() => importTfjsLayersModel(json, bytes.slice(1))).toThrowError(
      unreadable(/expected at least 4 bytes, got 3/),
    );
    expect(() => importTfjsLayersModel(json, new Uint8Array(8))).toThrowError(unreadable(/4 bytes.*hold 8/));
    expect(() => importTfjsLayersModel({}, bytes)).toThrowError(unreadable(/modelTopology/));
    expect(() => importTfjsLayersModel(sketch(1, [conv]).json, new Uint8Array())).toThrowError(
      unreadable(/needs the weight c\/kernel/),
    );
    const loop = sketch(1, [{ name: 'a', className: 'Add', inputs: ['x', 'a'] }]);
    expect(() => importTfjsLayersModel(loop.json, loop.bytes)).toThrowError(
      unreadable(/reads its own output/),
    );
    const dangling = sketch(1, [{ name: 'a', className: 'Add', inputs: ['x', 'nobody'] }]);
    expect(() => importTfjsLayersModel(dangling.json, dangling.bytes)).toThrowError(unreadable(/nobody/));
  });

  it('expands quantised weights as TF.js does', () => {
    const { json } = sketch(
      1,
      [{ name: 'c', className: 'Conv2D', config: { use_bias: false }, inputs: ['x'] }],
      [{ name: 'c/kernel', shape: [1, 1, 1, 2], values: [] }],
    );
    const kernelOf = (quantization: object, bytes: Uint8Array) => {
      const [group] = json.weightsManifest;
      const weights = group?.weights.map((weight) => ({ ...weight, quantization }));
      const model = importTfjsLayersModel({ ...json, weightsManifest: [{ paths: [], weights }] }, bytes);
      const kernel = model.graph.initializers.get('c/kernel');
      return kernel === undefined ? [] : [...float32View(kernel)];
    };
    expect(kernelOf({ dtype: 'uint8', scale: 0.5, min: -1 }, Uint8Array.of(0, 4))).toEqual([-1, 1]);
    expect(kernelOf({ dtype: 'uint16', scale: 0.5, min: -1 }, Uint8Array.of(4, 0, 0, 1))).toEqual([1, 127]);
    expect(kernelOf({ dtype: 'float16' }, Uint8Array.of(0x00, 0x3c, 0x01, 0x80))).toEqual([1, -(2 ** -24)]);
  });
});
