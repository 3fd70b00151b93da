/**
 * Sliding windows along one spatial axis, as Conv and the pools move them: which input indices a run of
 * output indices reads, and the padding that is left to do once exactly those are given.
 */
import { type WindowAttributes, windowAttributes } from '../attributes/windows.ts';
import { type Attribute, withAttributes } from '../graph.ts';
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
function padding(
  view: NodeView,
  { autoPad, pads, strides }: WindowAttributes,
  spatial: number,
  extent: number,
): [number, number] {
  if (autoPad === 'VALID') return [0, 0];
  if (autoPad === 'SAME_UPPER' || autoPad === 'SAME_LOWER') {
    const stride = strides[spatial] ?? 1;
    const input = view.inputShape(0)[spatial + 2] ?? 1;
    const output = view.outputShape[spatial + 2] ?? 1;
    const total = Math.max(0, (output - 1) * stride + extent - input);
    const small = Math.floor(total / 2);
    return autoPad === 'SAME_UPPER' ? [small, total - small] : [total - small, small];
  }
  return [pads[spatial] ?? 0, pads[spatial + view.outputShape.length - 2] ?? 0];
}

/** Input indices from the first to the last tap. */
function extentOf({ dilations }: WindowAttributes, kernel: readonly number[], spatial: number): number {
  return ((kernel[spatial] ?? 1) - 1) * (dilations[spatial] ?? 1) + 1;
}

/** `kernel`: the kernel's spatial dimensions. */
export function windowOf(view: NodeView, kernel: readonly number[], axis: number): Window {
  const spatial = axis - 2;
  const attributes = windowAttributes(view.node, view.outputShape.length - 2);
  const extent = extentOf(attributes, kernel, spatial);
  const [padBegin, padEnd] = padding(view, attributes, spatial, extent);
  return {
    stride: attributes.strides[spatial] ?? 1,
    extent,
    padBegin,
    padEnd,
    inputLength: view.inputShape(0)[axis] ?? 1,
    outputLength: view.outputShape[axis] ?? 1,
    ceil: attributes.ceilMode,
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
  const attributes = windowAttributes(view.node, rank);
  const sides = Array.from({ length: rank }, (_, spatial) => {
    if (spatial === axis - 2) return [run.padBegin, run.padEnd] as const;
    return padding(view, attributes, spatial, extentOf(attributes, kernel, spatial));
  });
  const value = [...sides.map(([begin]) => begin), ...sides.map(([, end]) => end)];
  return withAttributes(view.node, { auto_pad: null, pads: { type: 'ints', value } });
}
