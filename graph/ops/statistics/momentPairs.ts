/**
 * A mean and the mean of the squared deviations from it, as normalisations that exporters took apart compute them: parts
 * give both at once, as moments, in one round; each by itself would wait for the other.
 */
import type { Graph, Node } from '../../graph.ts';
import { GraphLinks } from '../../graphLinks.ts';
import { combineMoments, partMoments } from './moments.ts';
import { type Statistics, writeReduced } from './statistics.ts';
import type { StatisticsNode } from './table.ts';

/** Name of the mean's node -> the node that makes the variance of the same value. Axes are not compared. */
export function momentPairs(graph: Graph): ReadonlyMap<string, Node> {
  const links = new GraphLinks(graph);
  const pairs = new Map<string, Node>();
  for (const variance of graph.nodes) {
    if (variance.opType !== 'ReduceMean' || variance.domain !== '') continue;
    const centred = links.made(links.squareRoot(variance.inputs[0]), 'Sub');
    const mean = links.made(centred?.inputs[1], 'ReduceMean');
    if (mean !== undefined && mean.inputs[0] === centred?.inputs[0]) pairs.set(mean.name, variance);
  }
  return pairs;
}

/** The statistics of both; undefined where they are not taken over the same axes, or the mean is not subtracted as it is. */
export function pairStatistics(mean: StatisticsNode, variance: StatisticsNode): StatisticsNode | undefined {
  const { axes, view } = mean;
  const alike = axes.length === variance.axes.length && axes.every((axis) => variance.axes.includes(axis));
  if (!alike || view.outputShape.length !== view.inputShape(0).length) return undefined;
  const statistics: Statistics = {
    reducedAxes: () => axes,
    pointwise: false,
    partial: (_, part, write) => partMoments(view, axes, part, write),
    finish(_, joined, write) {
      const moments = combineMoments(view, axes, joined, write);
      writeReduced(view, axes, moments.mean, write);
      writeReduced(variance.view, axes, moments.variance, write);
    },
  };
  return { ...mean, statistics };
}
