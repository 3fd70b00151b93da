/** Checks a gradient graph against central differences of the graph itself, on a real runtime. */

import { lowerBatchStatistics } from '../../compiler/train/autodiff/batchStatistics.ts';
import { differentiate } from '../../compiler/train/autodiff/differentiate.ts';
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { normal } from '../../graph/random.ts';
import { saveModel } from '../../graph/save.ts';
import { elementCount, float32Tensor, float32View, type Tensor } from '../../graph/tensor.ts';
import type { Backend, Session } from '../../runtime/backend.ts';

export interface GradientCase {
  readonly opType: string;
  readonly attributes?: Readonly<Record<string, Attribute>>;
  /** In the operator's order; null is an absent one. Float32 tensors are differentiated, unless listed in `settings`. */
  readonly inputs: readonly (Tensor | null)[];
  /** Inputs that are initializers and have no gradient. */
  readonly settings?: readonly number[];
  /** Names of outputs after the first. */
  readonly furtherOutputs?: readonly string[];
}

/** Half the distance of the two points; large enough for float32, small enough for curvature. */
const halfStep = 1 / 128;
/** Elements of an input that are tried, evenly spread. */
const tried = 24;

/** The largest difference between gradient and central difference, over the largest central difference (or 1). */
export async function gradientError(
  backend: Backend,
  test: GradientCase,
  random: () => number,
): Promise<number> {
  const names = test.inputs.map((input, i) => (input === null ? '' : `input${i}`));
  const variable = test.inputs.map(
    (input, i) => input?.dataType === 'float32' && !(test.settings ?? []).includes(i),
  );
  const node: Node = {
    name: 'node',
    opType: test.opType,
    domain: '',
    inputs: names,
    outputs: ['output', ...(test.furtherOutputs ?? [])],
    attributes: new Map(Object.entries(test.attributes ?? {})),
  };
  const held = test.inputs.flatMap((tensor, i) =>
    tensor === null ? [] : [{ name: names[i] ?? '', tensor, variable: variable[i] === true }],
  );
  const open: Graph = {
    name: 'case',
    inputs: held.flatMap(({ name, tensor, variable }) =>
      variable ? [{ name, dataType: tensor.dataType, shape: tensor.dims }] : [],
    ),
    outputs: [{ name: 'output', dataType: 'float32' }],
    nodes: [node],
    initializers: new Map(held.flatMap(({ name, tensor, variable }) => (variable ? [] : [[name, tensor]]))),
    values: new Map(),
  };
  const feeds = new Map(
    held.flatMap(({ name, tensor, variable }) => (variable ? [[name, tensor] as const] : [])),
  );
  const forward = await createSession(backend, lowered(open, [], test));
  const output = (await runTensors(backend, forward, feeds)).get('output');
  if (output === undefined) throw new Error('The case has no output.');
  const weights = float32Tensor(
    output.dims,
    Array.from({ length: elementCount(output.dims) }, () => normal(random)),
  );
  const { graph, gradients } = differentiate(weighted(open, output.dims, weights), 'loss', [...feeds.keys()]);
  const backward = await createSession(backend, lowered(graph, output.dims, test));
  const results = await runTensors(backend, backward, feeds);

  const objective = async (point: ReadonlyMap<string, Tensor>): Promise<number> => {
    const y = (await runTensors(backend, forward, point)).get('output') ?? output;
    return float32View(y).reduce((sum, value, i) => sum + value * (float32View(weights)[i] ?? 0), 0);
  };
  let worst = 0;
  for (const [name, tensor] of feeds) {
    const gradient = results.get(gradients.get(name) ?? '');
    if (gradient === undefined) throw new Error(`${name} has no gradient.`);
    if (gradient.dims.join() !== tensor.dims.join())
      throw new Error(`The gradient of ${name} is [${gradient.dims}] instead of [${tensor.dims}].`);
    const got = float32View(gradient);
    const stride = Math.max(1, Math.floor(got.length / tried));
    let largest = 1;
    let difference = 0;
    for (let at = 0; at < got.length; at += stride) {
      const [above, below] = [halfStep, -halfStep].map((step) => moved(tensor, at, step));
      if (above === undefined || below === undefined) continue;
      const rise =
        (await objective(new Map(feeds).set(name, above.tensor))) -
        (await objective(new Map(feeds).set(name, below.tensor)));
      const expected = rise / (above.value - below.value);
      largest = Math.max(largest, Math.abs(expected));
      // NaN must not pass as a small difference.
      const error = Math.abs((got[at] ?? Number.NaN) - expected);
      difference = Number.isNaN(error) ? Number.POSITIVE_INFINITY : Math.max(difference, error);
    }
    worst = Math.max(worst, difference / largest);
  }
  await forward.release();
  await backward.release();
  return worst;
}

function moved(tensor: Tensor, at: number, step: number): { tensor: Tensor; value: number } {
  const values = float32View(tensor).slice();
  values[at] = (values[at] ?? 0) + step;
  return { tensor: float32Tensor(tensor.dims, values), value: values[at] ?? 0 };
}

/** loss = sum of output x weights. */
function weighted(graph: Graph, dims: readonly number[], weights: Tensor): Graph {
  const node = (opType: string, inputs: string[], output: string): Node => ({
    name: output,
    opType,
    domain: '',
    inputs,
    outputs: [output],
    attributes: new Map(
      [['keepdims', { type: 'int', value: 0 }]].slice(opType === 'ReduceSum' ? 0 : 1) as [],
    ),
  });
  return {
    ...graph,
    nodes: [
      ...graph.nodes,
      node('Mul', ['output', 'weights'], 'product'),
      node('ReduceSum', ['product'], 'loss'),
    ],
    outputs: [{ name: 'loss', dataType: 'float32', shape: [] }],
    initializers: new Map([...graph.initializers, ['weights', weights]]),
    values: new Map([
      ['output', { name: 'output', dataType: 'float32', shape: dims }],
      ['product', { name: 'product', dataType: 'float32', shape: dims }],
    ]),
  };
}

function lowered(graph: Graph, dims: readonly number[], test: GradientCase): Graph {
  if (test.furtherOutputs === undefined) return graph;
  const values = new Map(graph.values).set('output', { name: 'output', dataType: 'float32', shape: dims });
  const shaped =
    dims.length > 0 ? graph : { ...graph, outputs: graph.outputs.map((o) => ({ ...o, shape: [] })) };
  return { ...lowerBatchStatistics({ ...shaped, values }), outputs: graph.outputs };
}

function createSession(backend: Backend, graph: Graph): Promise<Session> {
  const model = {
    irVersion: 8,
    opsets: new Map([['', 17]]),
    producer: 'starling',
    metadata: new Map<string, string>(),
    graph,
  };
  return backend.createSession(saveModel(model).bytes);
}

async function runTensors(
  backend: Backend,
  session: Session,
  feeds: ReadonlyMap<string, Tensor>,
): Promise<ReadonlyMap<string, Tensor>> {
  const handles = new Map([...feeds].map(([name, tensor]) => [name, backend.upload(tensor)]));
  const outputs = await session.run(handles);
  const results = new Map<string, Tensor>();
  for (const [name, handle] of outputs) {
    results.set(name, await handle.read());
    handle.release();
  }
  for (const handle of handles.values()) handle.release();
  return results;
}
