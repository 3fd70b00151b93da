/** Gradients of element-wise operators: one input, two inputs that broadcast, and activations with parameters. */
import { hardSigmoidAttributes, leakyReluAttributes } from '../../../../graph/attributes/elementwise.ts';
import { elementCount, float32View } from '../../../../graph/tensor.ts';
import type { GradientRule, NodeContext } from '../gradientRule.ts';
import { float, type GraphBuilder, type Ref } from '../graphBuilder.ts';

/** dx = dy * slope, with the slope from the input x and the output y. */
function sloped(slope: (b: GraphBuilder, x: Ref, y: Ref, context: NodeContext) => Ref): GradientRule {
  return (context, dy) => [
    () => context.builder.mul(dy, slope(context.builder, context.input(0), context.output, context)),
  ];
}

export const identity: GradientRule = (_, dy) => [() => dy];
export const neg: GradientRule = ({ builder }, dy) => [() => builder.unary('Neg', dy)];
export const exp = sloped((_, __, y) => y);
export const tanh = sloped((b, _, y) => b.sub(b.scalar(1), b.mul(y, y)));
export const sigmoid = sloped((b, _, y) => b.mul(y, b.sub(b.scalar(1), y)));
export const erf = sloped((b, x) =>
  b.scale(b.unary('Exp', b.unary('Neg', b.mul(x, x))), 2 / Math.sqrt(Math.PI)),
);
/** The output is never negative, so that its sign is the mask; a very steep ramp is its sign, at a third of the time. */
export const relu = sloped((b, _, y) => b.unary('HardSigmoid', y, { alpha: float(1e38), beta: float(0) }));
export const abs = sloped((b, x) => b.unary('Sign', x));

export const log: GradientRule = (context, dy) => [() => context.builder.div(dy, context.input(0))];
export const sqrt: GradientRule = (context, dy) => [
  () => context.builder.div(context.builder.scale(dy, 0.5), context.output),
];
export const reciprocal = sloped((b, _, y) => b.unary('Neg', b.mul(y, y)));

export const leakyRelu = sloped((b, x, _, { node }) => {
  const { alpha } = leakyReluAttributes(node);
  const positive = b.mask('Greater', x, b.scalar(0));
  return b.add(b.scale(positive, 1 - alpha), b.scalar(alpha));
});

export const hardSigmoid = sloped((b, x, _, { node }) => {
  const { alpha, beta } = hardSigmoidAttributes(node);
  return b.scale(between(b, x, -beta / alpha, (1 - beta) / alpha), alpha);
});

/** x * h(x) with h the hard sigmoid of slope 1/6: h(x) + x h'(x). */
export const hardSwish = sloped((b, x) => {
  const gate = b.unary('HardSigmoid', x, {
    alpha: float(1 / 6),
    beta: float(0.5),
  });
  return b.add(gate, b.mul(b.scale(x, 1 / 6), between(b, x, -3, 3)));
});

function between(b: GraphBuilder, x: Ref, low: number, high: number): Ref {
  return b.mul(b.mask('Greater', x, b.scalar(low)), b.mask('Less', x, b.scalar(high)));
}

/** Only x has a gradient: the bounds are settings. */
export const clip: GradientRule = (context, dy) => [
  () => {
    const { builder: b } = context;
    const x = context.input(0);
    const masks = [
      ...(context.has(1) ? [b.mask('Greater', x, context.input(1))] : []),
      ...(context.has(2) ? [b.mask('Less', x, context.input(2))] : []),
    ];
    return masks.reduce((product, mask) => b.mul(product, mask), dy);
  },
  null,
  null,
];

export const pRelu: GradientRule = (context, dy) => {
  const { builder: b } = context;
  const [x, slope] = [context.input(0), context.input(1)];
  return [
    () => {
      const positive = b.mask('Greater', x, b.scalar(0));
      const negative = b.sub(b.scalar(1), positive);
      return b.mul(dy, b.add(positive, b.mul(negative, slope)));
    },
    () => b.sumTo(b.mul(dy, b.binary('Min', x, b.scalar(0))), slope.shape),
  ];
};

export const add: GradientRule = (context, dy) =>
  context.node.inputs.map((_, i) => () => context.builder.sumTo(dy, context.input(i).shape));

export const sub: GradientRule = (context, dy) => {
  const { builder: b } = context;
  return [
    () => b.sumTo(dy, context.input(0).shape),
    () => b.unary('Neg', b.sumTo(dy, context.input(1).shape)),
  ];
};

export const mul: GradientRule = (context, dy) => {
  const { builder: b } = context;
  const [x, y] = [context.input(0), context.input(1)];
  return [() => b.sumTo(b.mul(dy, y), x.shape), () => b.sumTo(b.mul(dy, x), y.shape)];
};

export const div: GradientRule = (context, dy) => {
  const { builder: b } = context;
  const [x, y] = [context.input(0), context.input(1)];
  return [
    () => b.sumTo(b.div(dy, y), x.shape),
    () => b.unary('Neg', b.sumTo(b.div(b.mul(dy, context.output), y), y.shape)),
  ];
};

/** An exponent known beforehand avoids the logarithm, and a square avoids the power as well. */
export const pow: GradientRule = (context, dy) => {
  const { builder: b } = context;
  const [x, p] = [context.input(0), context.input(1)];
  const constant = context.constant(1);
  const exponent =
    constant !== undefined && constant.dataType === 'float32' && elementCount(constant.dims) === 1
      ? float32View(constant)[0]
      : undefined;
  return [
    () => {
      const slope =
        exponent === 2
          ? b.scale(x, 2)
          : exponent !== undefined
            ? b.scale(b.binary('Pow', x, b.scalar(exponent - 1)), exponent)
            : b.mul(p, b.binary('Pow', x, b.sub(p, b.scalar(1))));
      return b.sumTo(b.mul(dy, slope), x.shape);
    },
    () => b.sumTo(b.mul(dy, b.mul(context.output, b.unary('Log', x))), p.shape),
  ];
};

/** Ties share the gradient's direction with every input that reaches the extreme. */
export const extreme: GradientRule = (context, dy) => {
  const { builder: b, node } = context;
  const compare = node.opType === 'Max' ? 'GreaterOrEqual' : 'LessOrEqual';
  return node.inputs.map((_, i) => () => {
    const x = context.input(i);
    return b.sumTo(b.mul(dy, b.mask(compare, x, context.output)), x.shape);
  });
};
