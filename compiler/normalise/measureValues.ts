/**
 * Fills in every value's type and shape, and replaces what is constant by initializers: read off the graph where its
 * nodes allow it, else from a profiling run.
 */
import type { Graph, Node, ValueInfo } from '../../graph/graph.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { inferValues } from './inferValues.ts';
import type { Pass } from './pass.ts';
import { type Profile, profileModel } from './profile.ts';
import { profileFeeds } from './profileFeeds.ts';

export const measureValues: Pass = async (model, { backend }) => {
  const profile =
    (await inferValues(model, backend)) ??
    (await profileModel(model, backend, profileFeeds(model.graph.inputs)));
  return { ...model, graph: withMeasured(model.graph, profile) };
};

/** The same where the passes since the last measuring left something unknown or constant; a profiling run is not cheap. */
export const measureWhatIsNew: Pass = async (model, context) =>
  isMeasured(model.graph) ? model : measureValues(model, context);

function isMeasured(graph: Graph): boolean {
  const ends = new Map(graph.outputs.map((output) => [output.name, output]));
  const known = (name: string) => {
    const shape = (graph.values.get(name) ?? ends.get(name))?.shape;
    return name === '' || shape?.every((dim) => typeof dim === 'number') === true;
  };
  return graph.nodes.every(({ inputs, outputs }) => {
    const constant = inputs.every((name) => name === '' || graph.initializers.has(name));
    return outputs.every(known) && !constant;
  });
}

function withMeasured(graph: Graph, { values, constants }: Profile): Graph {
  const outputs = new Set(graph.outputs.map((output) => output.name));
  const initializers = new Map(graph.initializers);
  const nodes: Node[] = [];
  for (const node of graph.nodes) {
    if (
      !node.outputs.every((name) => name === '' || constants.has(name)) ||
      isOutputOfConstant(graph, node)
    ) {
      nodes.push(node);
      continue;
    }
    for (const output of node.outputs) {
      const constant = constants.get(output);
      if (constant === undefined) continue;
      // A graph output must come from a node.
      const name = outputs.has(output) ? `${output}/constant` : output;
      initializers.set(name, constant);
      if (name === output) continue;
      const fields = {
        opType: 'Identity',
        domain: '',
        inputs: [name],
        outputs: [output],
        attributes: new Map(),
      };
      nodes.push({ name: `${node.name}/${output}`, ...fields });
    }
  }
  const produced = new Set(nodes.flatMap((node) => node.outputs));
  return {
    ...graph,
    nodes,
    initializers,
    values: new Map([...values].filter(([name]) => produced.has(name) && !outputs.has(name))),
    outputs: graph.outputs.map(({ name }) => concrete(graph, values, name)),
  };
}

/** Already what a constant output is turned into. */
function isOutputOfConstant(graph: Graph, node: Node): boolean {
  return (
    node.opType === 'Identity' &&
    graph.initializers.has(node.inputs[0] ?? '') &&
    graph.outputs.some(({ name }) => name === node.outputs[0])
  );
}

function concrete(graph: Graph, values: ReadonlyMap<string, ValueInfo>, name: string): ValueInfo {
  const value = values.get(name) ?? graph.inputs.find((input) => input.name === name);
  const tensor = graph.initializers.get(name);
  if (value !== undefined) return value;
  if (tensor !== undefined) return { name, dataType: tensor.dataType, shape: tensor.dims };
  throw new StarlingError('GRAPH_INVALID', `Output "${name}" of the graph is produced by no node.`);
}
