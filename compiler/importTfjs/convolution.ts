/** Keras convolutions as ONNX Conv nodes, with the activation that a layer may carry. */
import { float32Tensor, type Tensor } from '../../graph/tensor.ts';
import { emitActivation } from './activations.ts';
import { type GraphBuilder, type ImportedValue, int, ints, text } from './graphBuilder.ts';
import { flagOf, numberOf, pairOf, requireChannelsLast, textOf, unsupported } from './layerConfig.ts';
import type { LayerContext } from './layers.ts';
import { depthwiseKernelToOnnx, kernelToOnnx } from './layout.ts';
import type { TfjsLayer } from './modelJson.ts';
import type { Weight } from './readWeights.ts';

export function emitConv2D(context: LayerContext): ImportedValue {
  const kernel = context.weight('kernel', 4);
  return emitConv(context, kernelToOnnx(kernel.dims, kernel.values), numberOf(context.layer, 'groups', 1));
}

export function emitDepthwiseConv2D(context: LayerContext): ImportedValue {
  const kernel = context.weight('depthwise_kernel', 4);
  const [, , inputs = 0] = kernel.dims;
  return emitConv(context, depthwiseKernelToOnnx(kernel.dims, kernel.values), inputs);
}

function emitConv(context: LayerContext, kernel: Tensor, group: number): ImportedValue {
  const { layer, graph, input, name } = context;
  requireChannelsLast(layer);
  const [channels = 0, inputsPerGroup = 0, height = 1, width = 1] = kernel.dims;
  if (input.channels !== inputsPerGroup * group) {
    throw unsupported(
      layer,
      `its kernel reads ${inputsPerGroup * group} channels but its input has ${input.channels}`,
    );
  }
  const inputs = [input.name, graph.initializer(`${layer.name}/kernel`, kernel)];
  if (flagOf(layer, 'use_bias', true)) {
    inputs.push(
      graph.initializer(`${layer.name}/bias`, biasTensor(layer, context.weight('bias', 1), channels)),
    );
  }
  const strides = pairOf(layer, 'strides', 1);
  const dilations = pairOf(layer, 'dilation_rate', 1);
  const activation = textOf(layer, 'activation', 'linear');
  const convName = activation === 'linear' ? name : `${name}/conv`;
  const conv = graph.node('Conv', convName, inputs, {
    kernel_shape: ints([height, width]),
    strides: ints(strides),
    dilations: ints(dilations),
    group: int(group),
    ...padding(layer, [height, width], strides, dilations),
  });
  return { name: activated(graph, layer, activation, name, conv), channels };
}

function biasTensor(layer: TfjsLayer, bias: Weight, channels: number): Tensor {
  if (bias.values.length !== channels) {
    throw unsupported(layer, `it has ${channels} filters and ${bias.values.length} biases`);
  }
  return float32Tensor([channels], bias.values);
}

/**
 * TF pads 'same' so that the output is ceil(input / stride) long, with the odd row or column at the end. With stride 1
 * the amount is known; otherwise it depends on the input's size, which SAME_UPPER leaves open in the same way.
 */
function padding(
  layer: TfjsLayer,
  kernel: readonly [number, number],
  strides: readonly [number, number],
  dilations: readonly [number, number],
): { pads: ReturnType<typeof ints> } | { auto_pad: ReturnType<typeof text> } {
  const mode = textOf(layer, 'padding', 'valid');
  if (mode === 'valid') return { pads: ints([0, 0, 0, 0]) };
  if (mode !== 'same') throw unsupported(layer, `its padding is ${mode}`);
  if (strides[0] !== 1 || strides[1] !== 1) return { auto_pad: text('SAME_UPPER') };
  const total = [(kernel[0] - 1) * dilations[0], (kernel[1] - 1) * dilations[1]] as const;
  const [top, left] = [Math.floor(total[0] / 2), Math.floor(total[1] / 2)];
  return { pads: ints([top, left, total[0] - top, total[1] - left]) };
}

export function activated(
  graph: GraphBuilder,
  layer: TfjsLayer,
  activation: string,
  name: string,
  input: string,
): string {
  const output = emitActivation(graph, activation, name, input);
  if (output === undefined) throw unsupported(layer, `its activation '${activation}' is not known`);
  return output;
}
