/**
 * One function per TF.js layer class: the layer's call as ONNX nodes. Layers that carry a Python or JavaScript
 * function of their own (Lambda) cannot be honoured and are not in the table.
 */
import { float32Tensor } from '../../graph/tensor.ts';
import { clip } from './activations.ts';
import { activated, emitConv2D, emitDepthwiseConv2D } from './convolution.ts';
import { float, type GraphBuilder, type ImportedValue, int, text } from './graphBuilder.ts';
import { numberOf, pairOf, requireChannelsLast, textOf, unsupported } from './layerConfig.ts';
import { axisToOnnx, featureParameterToOnnx } from './layout.ts';
import type { TfjsLayer } from './modelJson.ts';
import type { Weight } from './readWeights.ts';

export interface LayerContext {
  readonly layer: TfjsLayer;
  readonly graph: GraphBuilder;
  /** Name of the call's value and of its last node. */
  readonly name: string;
  readonly input: ImportedValue;
  readonly inputs: readonly ImportedValue[];
  /** The layer's weight of that kind ('kernel', 'bias', ...); throws where it is missing or has another rank. */
  weight(kind: string, rank: number): Weight;
}

type EmitLayer = (context: LayerContext) => ImportedValue;

const emitters: Readonly<Record<string, EmitLayer>> = {
  Conv2D: emitConv2D,
  DepthwiseConv2D: emitDepthwiseConv2D,
  Activation: ({ layer, graph, name, input }) => ({
    ...input,
    name: activated(graph, layer, textOf(layer, 'activation', 'linear'), name, input.name),
  }),
  ReLU: emitReLU,
  LeakyReLU: ({ layer, graph, name, input }) => ({
    ...input,
    name: graph.node('LeakyRelu', name, [input.name], { alpha: float(numberOf(layer, 'alpha', 0.3)) }),
  }),
  ELU: ({ layer, graph, name, input }) => ({
    ...input,
    name: graph.node('Elu', name, [input.name], { alpha: float(numberOf(layer, 'alpha', 1)) }),
  }),
  PReLU: emitPReLU,
  Add: (context) => elementwise(context, 'Add'),
  Multiply: (context) => elementwise(context, 'Mul'),
  Subtract: (context) => elementwise(context, 'Sub'),
  Concatenate: emitConcatenate,
  UpSampling2D: emitUpSampling2D,
  Rescaling: emitRescaling,
  Dropout: ({ input }) => input,
  SpatialDropout2D: ({ input }) => input,
  GaussianNoise: ({ input }) => input,
  // Custom layers of the ESRGAN packages.
  MultiplyBeta: (context) => scaled(context, numberOf(context.layer, 'beta', 0.2)),
};

/** PixelShuffle, PixelShuffle2x, PixelShuffle4x, ...: the class name of the ESRGAN packages carries the scale. */
const pixelShuffleClass = /^PixelShuffle(?:(\d+)x)?$/;

export function emitLayer(context: LayerContext): ImportedValue {
  const { layer } = context;
  const shuffle = pixelShuffleClass.exec(layer.className);
  if (shuffle !== null) return emitPixelShuffle(context, Number(shuffle[1] ?? 0));
  const emit = Object.hasOwn(emitters, layer.className) ? emitters[layer.className] : undefined;
  if (emit === undefined) {
    throw unsupported(
      layer,
      layer.className === 'Lambda'
        ? 'a Lambda holds a function of the program that wrote it; replace it by a layer of Keras'
        : `known classes are ${Object.keys(emitters).join(', ')} and PixelShuffle`,
    );
  }
  return emit(context);
}

function emitReLU({ layer, graph, name, input }: LayerContext): ImportedValue {
  const slope = numberOf(layer, 'negative_slope', 0);
  const threshold = numberOf(layer, 'threshold', 0);
  const max = numberOf(layer, 'max_value', Number.POSITIVE_INFINITY);
  if (threshold !== 0) throw unsupported(layer, `its threshold is ${threshold}, not 0`);
  if (max === Number.POSITIVE_INFINITY) {
    const output =
      slope === 0
        ? graph.node('Relu', name, [input.name])
        : graph.node('LeakyRelu', name, [input.name], { alpha: float(slope) });
    return { ...input, name: output };
  }
  if (slope !== 0) throw unsupported(layer, 'it has both a negative_slope and a max_value');
  return { ...input, name: clip(graph, name, input.name, 0, max) };
}

function emitPReLU({ layer, graph, name, input, weight }: LayerContext): ImportedValue {
  const alpha = weight('alpha', 3);
  const slope = graph.initializer(`${layer.name}/alpha`, featureParameterToOnnx(alpha.dims, alpha.values));
  return { ...input, name: graph.node('PRelu', name, [input.name, slope]) };
}

/** Keras adds any number of values; ONNX's Add takes two, and a chain of it keeps Keras's order. */
function elementwise(context: LayerContext, opType: 'Add' | 'Mul' | 'Sub'): ImportedValue {
  const { layer, graph, name, inputs } = context;
  const [first, ...rest] = inputs;
  if (first === undefined || rest.length === 0) throw unsupported(layer, 'it needs at least two inputs');
  if (inputs.some((input) => input.channels !== first.channels)) {
    throw unsupported(layer, `its inputs have ${inputs.map((i) => i.channels).join(', ')} channels`);
  }
  const last = rest.length - 1;
  const output = rest.reduce(
    (sum, value, i) => graph.node(opType, i === last ? name : `${name}/${i}`, [sum, value.name]),
    first.name,
  );
  return { name: output, channels: first.channels };
}

function emitConcatenate({ layer, graph, name, inputs, input }: LayerContext): ImportedValue {
  const axis = axisToOnnx(numberOf(layer, 'axis', -1));
  if (axis === undefined || axis === 0) {
    throw unsupported(layer, `its axis is ${numberOf(layer, 'axis', -1)}`);
  }
  const names = inputs.map((value) => value.name);
  const channels = axis === 1 ? inputs.reduce((sum, value) => sum + value.channels, 0) : input.channels;
  return { name: graph.node('Concat', name, names, { axis: int(axis) }), channels };
}

function emitUpSampling2D({ layer, graph, name, input }: LayerContext): ImportedValue {
  requireChannelsLast(layer);
  const interpolation = textOf(layer, 'interpolation', 'nearest');
  if (interpolation !== 'nearest') {
    // TF.js and Keras place the pixels of a bilinear resize differently, so neither would be surely right.
    throw unsupported(layer, `its interpolation is ${interpolation}, not nearest`);
  }
  const [height, width] = pairOf(layer, 'size', 2);
  const scales = graph.initializer(`${layer.name}/scales`, float32Tensor([4], [1, 1, height, width]));
  const output = graph.node('Resize', name, [input.name, '', scales], {
    mode: text('nearest'),
    coordinate_transformation_mode: text('asymmetric'),
    nearest_mode: text('floor'),
  });
  return { ...input, name: output };
}

function emitRescaling(context: LayerContext): ImportedValue {
  const offset = numberOf(context.layer, 'offset', 0);
  const scale = numberOf(context.layer, 'scale', 1);
  if (offset === 0) return scaled(context, scale);
  const { graph, name } = context;
  const product = scaled({ ...context, name: `${name}/scaled` }, scale);
  const shift = graph.initializer(`${name}/offset`, float32Tensor([], [offset]));
  return { ...product, name: graph.node('Add', name, [product.name, shift]) };
}

function scaled({ graph, name, input }: LayerContext, factor: number): ImportedValue {
  const scale = graph.initializer(`${name}/factor`, float32Tensor([], [factor]));
  return { ...input, name: graph.node('Mul', name, [input.name, scale]) };
}

/** TF's depthToSpace takes the block from the outer part of the channels: ONNX's mode DCR. */
function emitPixelShuffle({ layer, graph, name, input }: LayerContext, classScale: number): ImportedValue {
  const scale = numberOf(layer, 'scale', classScale);
  if (!Number.isInteger(scale) || scale < 1 || input.channels % (scale * scale) !== 0) {
    throw unsupported(layer, `its scale ${scale} does not divide ${input.channels} channels`);
  }
  const output = graph.node('DepthToSpace', name, [input.name], { blocksize: int(scale), mode: text('DCR') });
  return { name: output, channels: input.channels / (scale * scale) };
}
