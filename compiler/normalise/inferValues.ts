/**
 * What a profiling run would find, read off the graph: types and shapes by the inference rules, constants by small
 * arithmetic. An engine costs a page more memory and time than most models; it is asked only for what neither can tell.
 */
import type { Graph, Model, Node, ValueInfo } from '../../graph/graph.ts';
import { foldNode } from '../../graph/infer/foldNode.ts';
import { inferNode } from '../../graph/infer/inferNode.ts';
import type { InferenceView } from '../../graph/infer/inferRule.ts';
import type { ShapedValue } from '../../graph/nodeView.ts';
import { valuesRead } from '../../graph/sort.ts';
import type { Tensor } from '../../graph/tensor.ts';
import { StarlingError } from '../../protocol/errors.ts';
import type { Backend } from '../../runtime/backend.ts';
import { constantValues } from './constantValues.ts';
import { type Profile, profileModel } from './profile.ts';

/** Undefined where some node has to be run on what the nodes before it give: nothing is certain then. */
export async function inferValues(model: Model, backend: Backend): Promise<Profile | undefined> {
  const { graph } = model;
  const constantNames = constantValues(graph);
  const known = new Map<string, ShapedValue>();
  for (const { name, dataType, shape = [] } of graph.inputs) {
    known.set(name, { dataType, shape: shape.map((length) => (typeof length === 'number' ? length : 0)) });
  }
  const tensors = new Map(graph.initializers);
  for (const [name, { dataType, dims }] of tensors) known.set(name, { dataType, shape: dims });
  const values = new Map<string, ValueInfo>();
  const constants = new Map<string, Tensor>();
  const learn = (name: string, value: ShapedValue) => {
    known.set(name, value);
    values.set(name, { name, ...value });
  };
  for (const node of graph.nodes) {
    const view = viewOf(node, known, tensors);
    const outputs = inferNode(view);
    if (node.outputs.every((name) => name === '' || constantNames.has(name))) {
      const made = await constantsOf(model, node, view, outputs, tensors, backend);
      if (made === undefined) return undefined;
      for (const [name, tensor] of made) {
        learn(name, { dataType: tensor.dataType, shape: tensor.dims });
        tensors.set(name, tensor);
        constants.set(name, tensor);
      }
    } else if (outputs === undefined) {
      return undefined;
    } else {
      for (const [i, name] of node.outputs.entries()) {
        const value = outputs[i];
        if (name !== '' && value !== undefined) learn(name, value);
      }
    }
  }
  return { values, constants };
}

function viewOf(
  node: Node,
  known: ReadonlyMap<string, ShapedValue>,
  tensors: ReadonlyMap<string, Tensor>,
): InferenceView {
  const at = <T>(values: ReadonlyMap<string, T>, index: number) => values.get(node.inputs[index] ?? '');
  return { node, input: (index) => at(known, index), constant: (index) => at(tensors, index) };
}

async function constantsOf(
  model: Model,
  node: Node,
  view: InferenceView,
  outputs: readonly ShapedValue[] | undefined,
  tensors: ReadonlyMap<string, Tensor>,
  backend: Backend,
): Promise<ReadonlyMap<string, Tensor> | undefined> {
  const [output] = outputs ?? [];
  const folded = output === undefined ? undefined : foldNode(view, output);
  if (folded !== undefined) return new Map([[node.outputs[0] ?? '', folded]]);
  const initializers = new Map<string, Tensor>();
  for (const name of valuesRead(node)) {
    const tensor = tensors.get(name);
    // The shape of a value that is computed at run time.
    if (tensor === undefined) return undefined;
    initializers.set(name, tensor);
  }
  const alone: Graph = {
    name: model.graph.name,
    inputs: [],
    outputs: [],
    nodes: [node],
    initializers,
    values: new Map(),
  };
  try {
    return (await profileModel({ ...model, graph: alone }, backend, new Map())).constants;
  } catch (thrown) {
    // The profiling run says which node it is.
    if (thrown instanceof StarlingError) return undefined;
    throw thrown;
  }
}
