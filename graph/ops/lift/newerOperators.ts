/** Operators that came after opset 17 and that older operators can spell out. */
import { geluAttributes, swishAttributes } from '../../attributes/elementwise.ts';
import { groupNormalizationAttributes, rmsNormalizationAttributes } from '../../attributes/normalisations.ts';
import type { Attribute, Node } from '../../graph.ts';
import { float32Tensor } from '../../tensor.ts';
import { positiveAxis } from '../rule.ts';
import { expansion } from './expansion.ts';
import { type LiftContext, type LiftStep, refuse } from './liftRule.ts';

const float = (value: number): Attribute => ({ type: 'float', value });
const ints = (value: readonly number[]): Attribute => ({ type: 'ints', value });

export const mish: LiftStep = {
  from: 18,
  lift: (node, context) => {
    const { input, add, finish } = expansion(node, context);
    add('Mul', [input, add('Tanh', [add('Softplus', [input])])]);
    return finish();
  },
};

export const gelu: LiftStep = {
  from: 20,
  lift: (node, context) => {
    const { input, add, scalar, finish } = expansion(node, context);
    const half = add('Mul', [input, scalar(0.5, 'half')]);
    let inner: string;
    if (geluAttributes(node).approximate === 'tanh') {
      const cube = add('Mul', [add('Mul', [input, input]), add('Mul', [input, scalar(0.044715, 'cubic')])]);
      inner = add('Tanh', [add('Mul', [add('Add', [input, cube]), scalar(Math.sqrt(2 / Math.PI), 'scale')])]);
    } else {
      inner = add('Erf', [add('Mul', [input, scalar(Math.SQRT1_2, 'scale')])]);
    }
    add('Mul', [half, add('Add', [inner, scalar(1, 'one')])]);
    return finish();
  },
};

export const swish: LiftStep = {
  from: 24,
  lift: (node, context) => {
    const { input, add, scalar, finish } = expansion(node, context);
    const { alpha } = swishAttributes(node);
    const gate = alpha === 1 ? input : add('Mul', [input, scalar(alpha, 'alpha')]);
    add('Mul', [input, add('Sigmoid', [gate])]);
    return finish();
  },
};

/**
 * x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on. onnxruntime puts the parts together again where they
 * come in this form.
 */
function rootMeanSquare(node: Node, context: LiftContext): readonly Node[] {
  const { input, add, scalar, finish } = expansion(node, context);
  const shape = context.shape(input) ?? refuse(node, context, 'the rank of its input is unknown');
  const { axis, epsilon } = rmsNormalizationAttributes(node);
  const first = positiveAxis(axis, shape.length);
  const axes = shape.map((_, i) => i).filter((i) => i >= first);
  const mean = add('ReduceMean', [add('Pow', [input, scalar(2, 'two')])], { axes: ints(axes) });
  const deviation = add('Sqrt', [add('Add', [mean, scalar(epsilon, 'epsilon')])]);
  add('Mul', [add('Div', [input, deviation]), node.inputs[1] ?? '']);
  return finish();
}

export const rmsNormalization: LiftStep = { from: 23, lift: rootMeanSquare };

/** What onnxruntime called it before it was an operator of ONNX: files that it has optimised hold it, whatever their opset. */
export const simplifiedLayerNormalization: LiftStep = {
  from: 1,
  lift: (node, context) => {
    const further = node.outputs.slice(1).some((output) => output !== '' && context.isUsed(output));
    if (further) refuse(node, context, 'its inverse deviations are used');
    return rootMeanSquare(node, context);
  },
};

/** Instance normalisation of each group as one channel, then scale and bias (per group in opset 18, per channel from 21). */
export const groupNormalization: LiftStep = {
  from: 18,
  lift: (node, context) => {
    const { input, add, constant, list, finish } = expansion(node, context);
    const shape = context.shape(input) ?? refuse(node, context, 'the shape of its input is unknown');
    const { numGroups: groups, ...attributes } = groupNormalizationAttributes(node);
    const channels = shape[1] ?? 1;
    const perGroup = (value: number, hint: string) =>
      constant(float32Tensor([groups], new Array<number>(groups).fill(value)), hint);
    const grouped = add('Reshape', [input, list([0, groups, -1], 'groups')]);
    const epsilon = float(attributes.epsilon);
    const normal = add('InstanceNormalization', [grouped, perGroup(1, 'ones'), perGroup(0, 'zeros')], {
      epsilon,
    });
    // Scale and bias of each group are repeated for its channels, then stand along axis 1.
    const target = [1, channels, ...shape.slice(2).map(() => 1)];
    const along = (name: string): string => {
      if (context.opset >= 21) return add('Reshape', [name, list(target, 'channels')]);
      const column = add('Reshape', [name, list([groups, 1], 'column')]);
      const repeated = add('Tile', [column, list([1, channels / groups], 'repeats')]);
      return add('Reshape', [repeated, list(target, 'channels')]);
    };
    const [, scale = '', bias = ''] = node.inputs;
    const restored = add('Reshape', [normal, list([0, ...shape.slice(1)], 'shape')]);
    add('Add', [add('Mul', [restored, along(scale)]), along(bias)]);
    return finish();
  },
};
