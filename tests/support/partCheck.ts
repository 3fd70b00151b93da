/**
 * Checks an operator rule against the operator itself: for many cases and slabs of their outputs, what the rule
 * needs is cut out of the inputs, what it emits is run, and the result must be that slab of the whole output.
 * All cases go through a few sessions: one computes the wholes, others many parts each.
 */
import fc from 'fast-check';
import { createHeapBackend } from '../../backends/ortHeap.ts';
import { runWhole } from '../../compiler/measure/verify.ts';
import type { Graph } from '../../graph/graph.ts';
import { shapedValues, viewNode } from '../../graph/nodeView.ts';
import type { LocalInput, NodeView, OpRule, Slab } from '../../graph/ops/rule.ts';
import { seededRandom } from '../../graph/random.ts';
import { format, fromIndices, type Ranges, range, size } from '../../graph/ranges.ts';
import { saveModel } from '../../graph/save.ts';
import { cutSlab } from '../../graph/slabs.ts';
import type { Tensor } from '../../graph/tensor.ts';
import type { Backend } from '../../runtime/backend.ts';
import { CasePartBuilder } from './casePartBuilder.ts';
import { caseGraph, describeCase, type OperatorCase } from './operatorCase.ts';
import { tensorDifference } from './tensorDifference.ts';

type Tensors = Record<string, Tensor>;

let shared: Promise<Backend> | undefined;
const heapBackend = (): Promise<Backend> => (shared ??= createHeapBackend());

async function runGraph(graph: Graph, inputs: Tensors): Promise<Tensors> {
  const opsets = new Map([['', 17]]);
  const model = { irVersion: 8, opsets, producer: '', metadata: new Map(), graph };
  const backend = await heapBackend();
  const session = await backend.createSession(saveModel(model).bytes);
  try {
    return await runWhole(session, backend, inputs);
  } finally {
    await session.release();
  }
}

/** Cases side by side in one graph, whose names must differ. */
export function joined(graphs: readonly Graph[]): Graph {
  return {
    name: 'cases',
    inputs: graphs.flatMap(({ inputs }) => inputs),
    outputs: graphs.flatMap(({ outputs }) => outputs),
    nodes: graphs.flatMap(({ nodes }) => nodes),
    initializers: new Map(graphs.flatMap(({ initializers }) => [...initializers])),
    values: new Map(),
  };
}

/** Everything, one index, one run, and several runs. */
function someRanges(length: number, random: () => number): Ranges[] {
  const below = (limit: number) => Math.floor(random() * limit);
  const first = below(length);
  const single = below(length);
  const several = fromIndices(Array.from({ length }, (_, i) => i).filter(() => random() < 0.5));
  const all = [
    range(0, length),
    range(single, single + 1),
    range(first, first + 1 + below(length - first)),
    several,
  ];
  const distinct = new Map(
    all.filter((ranges) => ranges.length > 0).map((ranges) => [format(ranges), ranges]),
  );
  return [...distinct.values()];
}

/** The same indices in pieces and in another order, as they arrive from several devices. */
function shuffled(ranges: Ranges, random: () => number): Ranges {
  const pieces = ranges.flatMap(([start, end]): Ranges => {
    const middle = start + Math.floor(random() * (end - start + 1));
    return [...range(middle, end), ...range(start, middle)];
  });
  return random() < 0.5 ? pieces : pieces.toReversed();
}

interface PartOfCase {
  readonly graph: Graph;
  readonly feeds: Tensors;
  readonly expected: Tensor;
  readonly description: string;
  readonly output: string;
}

interface PartRequest {
  readonly operator: OperatorCase;
  readonly rule: OpRule;
  readonly view: NodeView;
  readonly whole: Tensor;
  readonly slab: Slab;
  readonly prefix: string;
  readonly random: () => number;
}

function partOf(request: PartRequest): PartOfCase | undefined {
  const { operator, rule, view, whole, slab, prefix, random } = request;
  const description = `${describeCase(operator)}, axis ${slab.axis}, ${format(slab.ranges)}`;
  const needs = rule.needs(view, slab);
  if (needs === undefined) return undefined;
  const feeds: Tensors = {};
  const inputs = needs.map((need, i): LocalInput => {
    const input = operator.inputs[i];
    if (need === 'none' || input === null || input === undefined) return { name: '', order: [] };
    if (input.constant) throw new Error(`${description}: the rule needs constant input ${i} from a device.`);
    const name = `${prefix}feed${i}`;
    const order = need === 'whole' ? [] : need.anyOrder ? shuffled(need.ranges, random) : need.ranges;
    feeds[name] = need === 'whole' ? input.tensor : cutSlab(input.tensor, { axis: need.axis, ranges: order });
    return { name, order };
  });
  const weights = new Map(
    operator.inputs.flatMap((input, i) =>
      input?.constant === true ? [[view.node.inputs[i] ?? '', input.tensor] as const] : [],
    ),
  );
  const builder = new CasePartBuilder(prefix, weights);
  const result = rule.emit(view, { ...slab, inputs, output: `${prefix}part` }, builder);
  const output = builder.node('Identity', [result], new Map(), `${prefix}result`);
  if (rule.macs !== undefined && size(slab.ranges) === view.outputShape[slab.axis]) {
    const macs = rule.macs(view);
    // A transposed convolution leaves out inputs whose whole window is cropped.
    const fewer = operator.opType === 'ConvTranspose' && builder.macs > 0 && builder.macs < macs;
    if (builder.macs !== macs && !fewer) {
      throw new Error(`${description}: counted ${builder.macs} MACs of ${macs}.`);
    }
  }
  if (!Number.isInteger(builder.macs)) throw new Error(`${description}: ${builder.macs} MACs.`);
  const graph: Graph = {
    name: 'part',
    nodes: builder.nodes,
    initializers: builder.initializers,
    values: new Map(),
    inputs: Object.entries(feeds).map(([name, { dataType, dims }]) => ({ name, dataType, shape: dims })),
    outputs: [{ name: output, dataType: whole.dataType }],
  };
  return { graph, feeds, expected: cutSlab(whole, slab), description, output };
}

export interface PartsReport {
  /** One sentence per wrong part. */
  readonly failures: readonly string[];
  /** Number of checked parts per axis of the output. */
  readonly axes: ReadonlyMap<number, number>;
}

/** A session takes more than twice as long to make for twice the nodes. */
const partsPerSession = 64;

/** `rule` is the rule under test for every case. Throws where a session cannot be made. */
export async function checkParts(
  rule: OpRule,
  operators: readonly OperatorCase[],
  seed = 1,
): Promise<PartsReport> {
  const random = seededRandom(seed);
  const graphs = operators.map((operator, i) => caseGraph(operator, `c${i}_`));
  const inputs: Tensors = {};
  for (const [i, { inputs: list }] of operators.entries()) {
    for (const [j, input] of list.entries()) {
      if (input?.constant === false) inputs[`c${i}_in${j}`] = input.tensor;
    }
  }
  const wholes = await runGraph(joined(graphs), inputs);
  const parts: PartOfCase[] = [];
  const axes = new Map<number, number>();
  for (const [i, operator] of operators.entries()) {
    const graph = graphs[i];
    const whole = wholes[`c${i}_out`];
    if (graph === undefined || whole === undefined)
      throw new Error(`${describeCase(operator)} gave nothing.`);
    const known = { name: `c${i}_out`, dataType: whole.dataType, shape: whole.dims };
    const concrete = { ...graph, outputs: [known] };
    const view = viewNode(concrete, shapedValues(concrete), graph.node);
    for (const [axis, length] of whole.dims.entries()) {
      for (const ranges of someRanges(length, random)) {
        const prefix = `c${i}_p${parts.length}_`;
        const part = partOf({ operator, rule, view, whole, slab: { axis, ranges }, prefix, random });
        if (part === undefined) continue;
        parts.push(part);
        axes.set(axis, (axes.get(axis) ?? 0) + 1);
      }
    }
  }
  const results: Tensors = {};
  for (let start = 0; start < parts.length; start += partsPerSession) {
    const some = parts.slice(start, start + partsPerSession);
    const feeds: Tensors = Object.assign({}, ...some.map((part) => part.feeds));
    Object.assign(results, await runGraph(joined(some.map(({ graph: part }) => part)), feeds));
  }
  const failures = parts.flatMap(({ expected, description, output }) => {
    const difference = tensorDifference(expected, results[output]);
    return difference === undefined ? [] : [`${description}: ${difference}`];
  });
  return { failures, axes };
}

export interface CheckOptions {
  /** Axes along which at least one part must have been made. */
  readonly axes: readonly number[];
  readonly numRuns?: number;
  readonly seed?: number;
}

/** Samples cases and checks them all at once; if that fails, finds and shrinks the case that does. */
export async function checkRule(
  rule: OpRule,
  cases: fc.Arbitrary<OperatorCase>,
  { axes, numRuns = 24, seed = 20 }: CheckOptions,
): Promise<void> {
  const sampled = fc.sample(cases, { numRuns, seed });
  const report = await checkParts(rule, sampled, seed).catch((error: unknown) => ({
    failures: [String(error)],
    axes: new Map<number, number>(),
  }));
  if (report.failures.length > 0) {
    const named = cases.map((operator) => ({
      ...operator,
      [fc.toStringMethod]: () => describeCase(operator),
    }));
    const property = fc.asyncProperty(named, async (operator) => {
      const { failures } = await checkParts(rule, [operator], seed);
      if (failures[0] !== undefined) throw new Error(failures[0]);
    });
    await fc.assert(property, { numRuns, seed, interruptAfterTimeLimit: 20_000 });
    throw new Error(report.failures.slice(0, 5).join('\n'));
  }
  const missing = axes.filter((axis) => !report.axes.has(axis));
  if (missing.length > 0) throw new Error(`No part was made along axis ${missing.join(', ')}.`);
}
