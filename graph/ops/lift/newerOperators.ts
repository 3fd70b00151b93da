/** Operators that came after opset 17 and that older operators can spell out. */
import { type Attribute, floatAttribute, intAttribute, type Node, stringAttribute } from '../../graph.ts';
import { float32Tensor, int64Tensor } from '../../tensor.ts';
import { derivedNode, firstOutput, type LiftContext, type LiftStep, refuse } from './liftRule.ts';

const float = (value: number): Attribute => ({ type: 'float', value });
const ints = (value: readonly number[]): Attribute => ({ type: 'ints', value });

/** Collects the nodes of one expansion; the last one must name the origin's output. */
function expansion(origin: Node, context: LiftContext) {
  const nodes: Node[] = [];
  const [input = ''] = origin.inputs;
  if ((context.dataType(input) ?? 'float32') !== 'float32')
    refuse(origin, context, 'its input is not float32');
  let counter = 0;
  const add = (
    opType: string,
    inputs: readonly string[],
    attributes: Readonly<Record<string, Attribute>> = {},
  ): string => {
    const output = context.freshName(`${origin.name}/${opType}`);
    const node = derivedNode(origin, opType, inputs, output, attributes);
    nodes.push({ ...node, name: `${node.name}_${counter++}` });
    return output;
  };
  const scalar = (value: number, hint: string): string =>
    context.addConstant(float32Tensor([], [value]), `${origin.name}/${hint}`);
  const finish = (): readonly Node[] => {
    const last = nodes.pop();
    if (last !== undefined) nodes.push({ ...last, name: origin.name, outputs: [firstOutput(origin)] });
    return nodes;
  };
  return { input, add, scalar, finish };
}

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
    if (stringAttribute(node, 'approximate', 'none') === 'tanh') {
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
    const alpha = floatAttribute(node, 'alpha', 1);
    const gate = alpha === 1 ? input : add('Mul', [input, scalar(alpha, 'alpha')]);
    add('Mul', [input, add('Sigmoid', [gate])]);
    return finish();
  },
};

/** x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on. */
export const rmsNormalization: LiftStep = {
  from: 23,
  lift: (node, context) => {
    const { input, add, scalar, finish } = expansion(node, context);
    const shape = context.shape(input) ?? refuse(node, context, 'the rank of its input is unknown');
    const axis = intAttribute(node, 'axis', -1);
    const first = axis < 0 ? axis + shape.length : axis;
    const axes = shape.map((_, i) => i).filter((i) => i >= first);
    const mean = add('ReduceMean', [add('Mul', [input, input])], { axes: ints(axes) });
    const deviation = add('Sqrt', [
      add('Add', [mean, scalar(floatAttribute(node, 'epsilon', 1e-5), 'epsilon')]),
    ]);
    add('Mul', [add('Div', [input, deviation]), node.inputs[1] ?? '']);
    return finish();
  },
};

/** Instance normalisation of each group as one channel, then scale and bias (per group in opset 18, per channel from 21). */
export const groupNormalization: LiftStep = {
  from: 18,
  lift: (node, context) => {
    const { input, add, finish } = expansion(node, context);
    const shape = context.shape(input) ?? refuse(node, context, 'the shape of its input is unknown');
    const groups = intAttribute(node, 'num_groups', 1);
    const channels = shape[1] ?? 1;
    const constant = (list: readonly number[], hint: string) =>
      context.addConstant(int64Tensor(list), `${node.name}/${hint}`);
    const perGroup = (value: number, hint: string) =>
      context.addConstant(
        float32Tensor([groups], new Array<number>(groups).fill(value)),
        `${node.name}/${hint}`,
      );
    const grouped = add('Reshape', [input, constant([0, groups, -1], 'groups')]);
    const epsilon = float(floatAttribute(node, 'epsilon', 1e-5));
    const normal = add('InstanceNormalization', [grouped, perGroup(1, 'ones'), perGroup(0, 'zeros')], {
      epsilon,
    });
    // Scale and bias of each group are repeated for its channels, then stand along axis 1.
    const target = [1, channels, ...shape.slice(2).map(() => 1)];
    const along = (name: string): string => {
      if (context.opset >= 21) return add('Reshape', [name, constant(target, 'channels')]);
      const column = add('Reshape', [name, constant([groups, 1], 'column')]);
      const repeated = add('Tile', [column, constant([1, channels / groups], 'repeats')]);
      return add('Reshape', [repeated, constant(target, 'channels')]);
    };
    const [, scale = '', bias = ''] = node.inputs;
    const restored = add('Reshape', [normal, constant([0, ...shape.slice(1)], 'shape')]);
    add('Add', [add('Mul', [restored, along(scale)]), along(bias)]);
    return finish();
  },
};
