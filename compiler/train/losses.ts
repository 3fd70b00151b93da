/** Training losses as nodes appended to a graph; their gradients come from differentiating it. */
import type { Graph, ValueInfo } from '../../graph/graph.ts';
import { shapedValues } from '../../graph/nodeView.ts';
import { elementCount } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { GraphBuilder, int, type Ref } from './autodiff/graphBuilder.ts';

/**
 * `output` names a value of the graph, `target` a new input of its shape; `weight` scales the term.
 * - cross-entropy: the output holds logits along axis 1, the target probabilities (one-hot labels); `smoothing` moves
 *   that share of them to all classes evenly.
 * - distillation: both hold logits along axis 1; the divergence of the softened distributions, times temperature
 *   squared, so that gradients keep their size (Hinton et al. 2015).
 * - squared, absolute: the mean over all elements.
 * - boxes: both are [batch, places, 4 + 1 + classes], boxes in grid cells, then a confidence and class scores from 0 to 1.
 *   Squared differences of confidences everywhere; of scores, and absolute ones of boxes, as far as the target is
 *   confident that there is an object; the sum over the places of one picture.
 */
export type LossTerm = {
  readonly output: string;
  readonly target: string;
  readonly weight: number;
} & (
  | { readonly type: 'cross-entropy'; readonly smoothing: number }
  | { readonly type: 'distillation'; readonly temperature: number }
  | { readonly type: 'squared' | 'absolute' | 'boxes' }
);

/** The graph with the targets as further inputs and the sum of all terms as its only output besides its own. */
export function appendLoss(
  graph: Graph,
  terms: readonly LossTerm[],
): { readonly graph: Graph; readonly loss: string } {
  const shapes = shapedValues(graph);
  const builder = new GraphBuilder([...shapes.keys(), ...graph.nodes.map(({ name }) => name)], 'loss');
  const targets = new Map<string, ValueInfo>();
  const weighted = terms.map((term) => {
    const shape = shapes.get(term.output)?.shape;
    if (shape === undefined)
      throw new StarlingError(
        'GRAPH_INVALID',
        `The loss reads "${term.output}", which the graph does not have.`,
      );
    targets.set(term.target, { name: term.target, dataType: 'float32', shape });
    const value = emit(builder, term, { name: term.output, shape }, { name: term.target, shape });
    return builder.scale(value, term.weight);
  });
  const [first, ...rest] = weighted;
  if (first === undefined)
    throw new StarlingError('GRAPH_INVALID', 'A loss of at least one term is expected.');
  const loss = builder.unary(
    'Identity',
    rest.reduce((sum, term) => builder.add(sum, term), first),
  ).name;
  return {
    loss,
    graph: {
      ...graph,
      inputs: [...graph.inputs, ...targets.values()],
      outputs: [...graph.outputs, { name: loss, dataType: 'float32', shape: [] }],
      nodes: [...graph.nodes, ...builder.nodes],
      initializers: new Map([...graph.initializers, ...builder.constants]),
      values: new Map([...graph.values, ...builder.values].filter(([name]) => name !== loss)),
    },
  };
}

function emit(b: GraphBuilder, term: LossTerm, output: Ref, target: Ref): Ref {
  const count = elementCount(output.shape);
  const classes = output.shape[1] ?? 1;
  switch (term.type) {
    case 'cross-entropy': {
      const { smoothing } = term;
      const smooth = b.add(b.scale(target, 1 - smoothing), b.scalar(smoothing / classes));
      return b.scale(
        sumAll(b, b.mul(smoothing === 0 ? target : smooth, logSoftmax(b, output))),
        -classes / count,
      );
    }
    case 'distillation': {
      const { temperature } = term;
      const teacher = logSoftmax(b, b.scale(target, 1 / temperature));
      const student = logSoftmax(b, b.scale(output, 1 / temperature));
      const divergence = b.mul(b.unary('Exp', teacher), b.sub(teacher, student));
      return b.scale(sumAll(b, divergence), (temperature * temperature * classes) / count);
    }
    case 'squared': {
      const difference = b.sub(output, target);
      return b.scale(sumAll(b, b.mul(difference, difference)), 1 / count);
    }
    case 'absolute':
      return b.scale(sumAll(b, b.unary('Abs', b.sub(output, target))), 1 / count);
    case 'boxes':
      return boxes(b, output, target);
  }
}

function boxes(b: GraphBuilder, output: Ref, target: Ref): Ref {
  const [batch = 1, , length = 5] = output.shape;
  const columns = (x: Ref, start: number, end: number): Ref => b.slice(x, [2], [start], [end]);
  const difference = b.sub(output, target);
  const square = (x: Ref): Ref => b.mul(x, x);
  const confidence = columns(target, 4, 5);
  const perPlace = (x: Ref): Ref => b.reduceSum(x, [2], true);
  const box = perPlace(b.unary('Abs', columns(difference, 0, 4)));
  const scores = perPlace(square(columns(difference, 5, length)));
  const seen = b.mul(confidence, b.add(box, scores));
  return b.scale(sumAll(b, b.add(square(columns(difference, 4, 5)), seen)), 1 / batch);
}

function logSoftmax(b: GraphBuilder, x: Ref): Ref {
  return b.unary('LogSoftmax', x, { axis: int(1) });
}

function sumAll(b: GraphBuilder, x: Ref): Ref {
  return b.reduceSum(
    x,
    x.shape.map((_, axis) => axis),
    false,
  );
}
