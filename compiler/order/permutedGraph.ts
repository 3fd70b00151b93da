/**
 * A graph whose channels have changed places: the weights and constants of the nodes that make and read them are written
 * in another order. Where a node is not known to do the same for every channel, those around it stay where they are.
 */
import type { Graph, Node } from '../../graph/graph.ts';
import { inOrder } from '../../graph/ops/select.ts';
import { size, toIndices } from '../../graph/ranges.ts';
import { cutSlab } from '../../graph/slabs.ts';
import { valuesRead } from '../../graph/sort.ts';
import { elementCount, type Tensor } from '../../graph/tensor.ts';
import { type Contraction, findFitted } from '../calibrate/contractions.ts';
import type { ChannelClasses } from '../divide/channelSpaces.ts';
import type { Axes, DividableNode } from '../divide/followAxes.ts';

export interface Moves {
  readonly axes: Axes;
  readonly classes: ChannelClasses;
  /** Class -> the one that comes to its places; they lie in the same values. */
  readonly moves: ReadonlyMap<number, number>;
}

export interface Permuted {
  readonly graph: Graph;
  /** Value -> for each channel, which one it was. */
  readonly orders: ReadonlyMap<string, readonly number[]>;
}

/** Operators whose operands are broadcast: one may hold a number for each channel. */
const broadcast: ReadonlySet<string> = new Set(['Add', 'Sub', 'Mul', 'Div', 'Pow', 'Max', 'Min', 'PRelu']);
/** Operators whose constants speak of places and not of channels. */
const placing: ReadonlySet<string> = new Set(['Resize', 'Concat', 'Slice', 'Split', 'Reshape', 'Transpose', 'Squeeze', 'Unsqueeze', 'Gather']); // biome-ignore format: a list

/** Undefined where nothing moves. */
export function permutedGraph(graph: Graph, given: Moves): Permuted | undefined {
  const { axes, classes, moves } = given;
  const contractions = new Map(findFitted(graph).map((contraction) => [contraction.node, contraction]));
  const fixed = fixedClasses(graph, given, contractions);
  const cycles = movedCycles(moves, fixed);
  const orders = new Map(
    [...classes].flatMap(([value, list]) => {
      const places = new Map(list.map((id, channel) => [id, channel]));
      const order = list.map((id, channel) => {
        const other = cycles.get(id);
        // A class that stays may lie in several places.
        return other === undefined ? channel : (places.get(other) ?? channel);
      });
      return order.every((old, channel) => old === channel) ? [] : [[value, order] as const];
    }),
  );
  if (orders.size === 0) return undefined;
  const writer = new ConstantWriter(graph);
  const nodes = graph.nodes.map((node) => {
    const contraction = contractions.get(node);
    if (contraction !== undefined) return permutedContraction(contraction, orders, writer);
    const order = orders.get(node.outputs[0] ?? '');
    if (order === undefined || !broadcast.has(node.opType)) return node;
    const axis = axes.axes.get(node.outputs[0] ?? '') ?? 1;
    const rank = axes.values.get(node.outputs[0] ?? '')?.shape.length ?? 0;
    return writer.permuted(node, (tensor) => channelAxisOf(tensor, axis, rank, order.length), order);
  });
  return { graph: { ...graph, nodes, initializers: writer.initializers }, orders };
}

/** Where a constant holds a number for each channel of what it is broadcast to; undefined where it holds one for all. */
function channelAxisOf({ dims }: Tensor, axis: number, rank: number, channels: number): number | undefined {
  const own = axis - (rank - dims.length);
  return own >= 0 && dims[own] === channels && channels > 1 ? own : undefined;
}

function permutedContraction(
  contraction: Contraction,
  orders: Permuted['orders'],
  writer: ConstantWriter,
): Node {
  const { node, input, output, depthwise, transposed, outputChannels } = contraction;
  const [from, to] = [orders.get(input), orders.get(output)];
  const weighed = writer.permuted(node, (_, i) => (i === 1 ? (transposed ? 1 : 0) : undefined), to);
  const read = writer.permuted(
    weighed,
    (_, i) => (i === 1 && !depthwise ? (transposed ? 0 : 1) : undefined),
    from,
  );
  const alongBias = ({ dims }: Tensor, i: number) => {
    const axis = dims.indexOf(outputChannels);
    return i === 2 && axis >= 0 ? axis : undefined;
  };
  return writer.permuted(read, alongBias, to);
}

/** Classes that have to stay: around nodes that are not known to do the same for every channel, and at the ends of the graph. */
function fixedClasses(
  graph: Graph,
  { axes, classes }: Moves,
  contractions: ReadonlyMap<Node, Contraction>,
): ReadonlySet<number> {
  const fixed = new Set<number>();
  const fix = (value: string) => {
    for (const id of classes.get(value) ?? []) fixed.add(id);
  };
  for (const { name } of [...graph.inputs, ...graph.outputs]) fix(name);
  for (const list of classes.values()) {
    const seen = new Set<number>();
    for (const id of list) if (seen.size === seen.add(id).size) fixed.add(id);
  }
  const dividable = new Map(axes.nodes.map((found) => [found.node, found]));
  for (const node of graph.nodes) {
    const contraction = contractions.get(node);
    const alike =
      contraction === undefined
        ? channelsAlike(graph, axes, classes, dividable.get(node))
        : isPlain(contraction, axes, classes);
    if (alike === false) for (const name of [...valuesRead(node), ...node.outputs]) fix(name);
    else if (alike !== true) for (const id of alike) fixed.add(id);
  }
  return fixed;
}

function isPlain(contraction: Contraction, { axes }: Axes, classes: ChannelClasses): boolean {
  const { input, inputAxis, output, outputAxis, depthwise } = contraction;
  const along = (value: string, axis: number) => (axes.get(value) ?? axis) === axis;
  if (!along(input, inputAxis) || !along(output, outputAxis)) return false;
  const [read, made] = [classes.get(input), classes.get(output)];
  return !depthwise || made === undefined || made.every((id, channel) => read?.[channel] === id);
}

/** Whether every output channel is made of the input channels of its class alone; else the classes that are not, or false. */
function channelsAlike(
  graph: Graph,
  { axes }: Axes,
  classes: ChannelClasses,
  found: DividableNode | undefined,
): boolean | readonly number[] {
  if (found === undefined) return false;
  const { node, axis, output, rule, needs, view } = found;
  if (rule.kind === 'contraction' || node.outputs.length > 1) return false;
  if (!broadcast.has(node.opType) && !placing.has(node.opType) && hasLists(graph, node)) return false;
  // A subgraph may do anything with what it captures.
  if (valuesRead(node).some((name) => !node.inputs.includes(name))) return false;
  const made = classes.get(output) ?? [];
  const constant: number[] = [];
  for (const [channel, id] of made.entries()) {
    let reads = 0;
    for (const [i, need] of (needs({ axis, ranges: [[channel, channel + 1]] }) ?? []).entries()) {
      const value = node.inputs[i] ?? '';
      if (need === 'none' || view.isConstant(i)) continue;
      const list = classes.get(value);
      if (list === undefined || need === 'whole' || need.axis !== axes.get(value)) return false;
      if (size(need.ranges) > 1) return false;
      if (toIndices(need.ranges).some((source) => list[source] !== id)) return false;
      reads += size(need.ranges);
    }
    if (reads === 0) constant.push(id);
  }
  return constant.length === 0 ? true : constant;
}

/** Whether some constant of a node holds several numbers. */
function hasLists({ initializers }: Graph, { inputs }: Node): boolean {
  return inputs.some((name) => elementCount(initializers.get(name)?.dims ?? []) > 1);
}

/** Moves without those of a group of which some have to stay. */
function movedCycles(moves: ReadonlyMap<number, number>, fixed: ReadonlySet<number>): Map<number, number> {
  const moved = new Map<number, number>();
  const seen = new Set<number>();
  for (const start of moves.keys()) {
    const cycle: number[] = [];
    for (let id = start; !seen.has(id); id = moves.get(id) ?? id) {
      seen.add(id);
      cycle.push(id);
    }
    if (cycle.some((id) => fixed.has(id))) continue;
    for (const id of cycle) moved.set(id, moves.get(id) ?? id);
  }
  return moved;
}

/** Rewrites constants of single nodes; what other nodes read too stays theirs. */
class ConstantWriter {
  readonly initializers: Map<string, Tensor>;
  readonly #readers = new Map<string, number>();

  constructor({ nodes, initializers, outputs }: Graph) {
    this.initializers = new Map(initializers);
    const count = (name: string) => this.#readers.set(name, (this.#readers.get(name) ?? 0) + 1);
    for (const node of nodes) for (const name of valuesRead(node)) count(name);
    for (const { name } of outputs) count(name);
  }

  /** The node with those of its constants in another order for which `axisOf` gives an axis. */
  permuted(
    node: Node,
    axisOf: (tensor: Tensor, input: number) => number | undefined,
    order: readonly number[] | undefined,
  ): Node {
    if (order === undefined) return node;
    const inputs = node.inputs.map((name, i) => {
      const tensor = this.initializers.get(name);
      const axis = tensor === undefined ? undefined : axisOf(tensor, i);
      if (tensor === undefined || axis === undefined) return name;
      const own = (this.#readers.get(name) ?? 0) > 1 ? `${name}__${node.name}` : name;
      this.initializers.set(own, cutSlab(tensor, { axis, ranges: inOrder(order) }));
      return own;
    });
    return { ...node, inputs };
  }
}
