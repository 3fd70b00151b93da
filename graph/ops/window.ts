/**
 * Sliding windows along one spatial axis, as Conv and the pools move them: which input indices a run of
 * output indices reads, and the padding that is left to do once exactly those are given.
 */
import { type Attribute, intAttribute, intsAttribute, stringAttribute, withAttributes } from '../graph.ts';
import { normalise, positionsWithin, type Ranges, size } from '../ranges.ts';
import type { NodeView, Part, PartBuilder } from './rule.ts';
import { emitConcat, emitSelection } from './select.ts';

export interface Window {
  readonly stride: number;
  /** Input indices from the first to the last tap of one output index. */
  readonly extent: number;
  readonly padBegin: number;
  readonly padEnd: number;
  readonly inputLength: number;
  readonly outputLength: number;
  readonly ceil: boolean;
}

/** The padding of a node along a spatial axis (0 is the first after the channels), `auto_pad` resolved. */
function padding(view: NodeView, spatial: number, stride: number, extent: number): [number, number] {
  const rank = view.outputShape.length - 2;
  const mode = stringAttribute(view.node, 'auto_pad', 'NOTSET');
  if (mode === 'VALID') return [0, 0];
  if (mode === 'SAME_UPPER' || mode === 'SAME_LOWER') {
    const input = view.inputShape(0)[spatial + 2] ?? 1;
    const output = view.outputShape[spatial + 2] ?? 1;
    const total = Math.max(0, (output - 1) * stride + extent - input);
    const small = Math.floor(total / 2);
    return mode === 'SAME_UPPER' ? [small, total - small] : [total - small, small];
  }
  const pads = intsAttribute(view.node, 'pads');
  return [pads?.[spatial] ?? 0, pads?.[spatial + rank] ?? 0];
}

/** `kernel`: the kernel's spatial dimensions. */
export function windowOf(view: NodeView, kernel: readonly number[], axis: number): Window {
  const spatial = axis - 2;
  const stride = intsAttribute(view.node, 'strides')?.[spatial] ?? 1;
  const dilation = intsAttribute(view.node, 'dilations')?.[spatial] ?? 1;
  const extent = ((kernel[spatial] ?? 1) - 1) * dilation + 1;
  const [padBegin, padEnd] = padding(view, spatial, stride, extent);
  return {
    stride,
    extent,
    padBegin,
    padEnd,
    inputLength: view.inputShape(0)[axis] ?? 1,
    outputLength: view.outputShape[axis] ?? 1,
    ceil: intAttribute(view.node, 'ceil_mode', 0) === 1,
  };
}

interface WindowRun {
  /** First and last + 1 input index that exists. */
  readonly start: number;
  readonly end: number;
  readonly padBegin: number;
  readonly padEnd: number;
}

function runOf(window: Window, first: number, last: number): WindowRun {
  const low = first * window.stride - window.padBegin;
  const high = (last - 1) * window.stride - window.padBegin + window.extent;
  const start = Math.max(0, low);
  const padBegin = Math.max(0, -low);
  // Only the last windows may hang over the end, where ceil_mode has rules of its own: leave them to the operator.
  if (window.ceil && last === window.outputLength) {
    return { start, end: window.inputLength, padBegin, padEnd: window.padEnd };
  }
  const end = Math.min(window.inputLength, high);
  return { start, end, padBegin, padEnd: Math.max(0, high - window.inputLength) };
}

/** Undefined where some run would read nothing but padding. */
export function windowNeeds(window: Window, ranges: Ranges): Ranges | undefined {
  const runs = ranges.map(([first, last]) => runOf(window, first, last));
  if (runs.some(({ start, end }) => end <= start)) return undefined;
  return normalise(runs.map(({ start, end }) => [start, end] as const));
}

/** One node per run of neighbouring output indices, joined. `rest` are the node's other inputs. */
export function emitWindows(
  view: NodeView,
  part: Part,
  builder: PartBuilder,
  window: Window,
  kernel: readonly number[],
  rest: readonly string[],
): string {
  const [input] = part.inputs;
  if (input === undefined) return '';
  const pieces = part.ranges.map(([first, last]) => {
    const run = runOf(window, first, last);
    const positions = positionsWithin(input.order, [[run.start, run.end]]);
    const name = emitSelection(builder, input.name, part.axis, positions, size(input.order));
    const attributes = withPads(view, kernel, part.axis, run);
    const output = part.ranges.length === 1 ? part.output : undefined;
    return builder.node(view.node.opType, [name, ...rest], attributes, output);
  });
  return emitConcat(builder, pieces, part.axis, part.output);
}

function withPads(
  view: NodeView,
  kernel: readonly number[],
  axis: number,
  run: WindowRun,
): ReadonlyMap<string, Attribute> {
  const rank = view.outputShape.length - 2;
  const strides = intsAttribute(view.node, 'strides');
  const dilations = intsAttribute(view.node, 'dilations');
  const sides = Array.from({ length: rank }, (_, spatial) => {
    if (spatial === axis - 2) return [run.padBegin, run.padEnd] as const;
    const extent = ((kernel[spatial] ?? 1) - 1) * (dilations?.[spatial] ?? 1) + 1;
    return padding(view, spatial, strides?.[spatial] ?? 1, extent);
  });
  const value = [...sides.map(([begin]) => begin), ...sides.map(([, end]) => end)];
  return withAttributes(view.node, { auto_pad: null, pads: { type: 'ints', value } });
}
