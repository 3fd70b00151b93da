/**
 * How many samples are worth their time where a whole model is run to weigh or judge: large models get fewer, because
 * neighbouring positions of one sample say much already. Picks none.
 */
import type { Graph } from '../../graph/graph.ts';
import { graphMacs } from '../../graph/ops/macs.ts';

/** As many as so many multiply-accumulates pay for, one run for each of `runs`. */
function affordable(graph: Graph, macs: number, runs: number, most: number): number {
  return Math.min(most, Math.max(2, Math.floor(macs / Math.max(1, graphMacs(graph) * runs))));
}

/** To weigh the contractions of a dense model: one run each. */
export function sensitivitySamples(graph: Graph, contractions: number): number {
  return affordable(graph, 3e11, contractions, 128);
}

/** To weigh them again in a sparse model. Contractions that miss little move the outputs little: more than in a dense one. */
export function regimeSamples(graph: Graph, contractions: number): number {
  return affordable(graph, 5e11, contractions, 500);
}

/** For the few runs that judge; selections of a classifier differ in a few of a hundred answers. */
export function judgedSamples(graph: Graph): number {
  return affordable(graph, 1e11, 1, 500);
}

/** From which the ranges of a wire type are taken: they reach twice as far as what is seen. */
export function rangeSamples(graph: Graph): number {
  return affordable(graph, 1e11, 1, 5000);
}
