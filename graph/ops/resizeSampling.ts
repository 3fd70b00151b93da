/**
 * Where Resize (opset 13) reads along one axis: for each output index the input indices and their factors, in the
 * arithmetic of onnxruntime (float32 coordinates). Not antialiased, and no crop: those are opset 18 and roi.
 */
import { resizeAttributes } from '../attributes/resize.ts';
import type { Node } from '../graph.ts';

export interface AxisScale {
  readonly inputLength: number;
  readonly outputLength: number;
  /** As given in `scales`, else output length / input length. */
  readonly scale: number;
}

export interface Tap {
  readonly index: number;
  readonly factor: number;
}

/** The input coordinate of an output index, or undefined for modes that depend on more than this axis's lengths. */
function coordinate(mode: string, index: number, axis: AxisScale): number | undefined {
  const { inputLength, outputLength } = axis;
  const scale = Math.fround(axis.scale);
  const halfPixel = Math.fround(Math.fround((index + 0.5) / scale) - 0.5);
  switch (mode) {
    case 'half_pixel':
      return halfPixel;
    case 'pytorch_half_pixel':
      return outputLength > 1 ? halfPixel : 0;
    case 'asymmetric':
      return Math.fround(index / scale);
    case 'align_corners':
      return outputLength === 1 ? 0 : Math.fround((index * (inputLength - 1)) / (outputLength - 1));
    case 'tf_half_pixel_for_nn':
      return Math.fround((index + 0.5) / scale);
    default:
      return undefined;
  }
}

function nearest(mode: string, x: number, down: boolean): number {
  switch (mode) {
    case 'floor':
      return Math.floor(x);
    case 'ceil':
      return Math.ceil(x);
    case 'round_prefer_ceil':
      return Math.floor(x + 0.5);
    case 'round_prefer_floor':
      return Math.ceil(x - 0.5);
    default:
      // Opset 10's Upsample: ceil where the axis shrinks.
      return down ? Math.ceil(x) : Math.floor(x);
  }
}

function clamp(index: number, length: number): number {
  return Math.min(Math.max(index, 0), length - 1);
}

/** Keys' cubic convolution: factors of the taps at -1, 0, 1 and 2 for a fraction in [0, 1). */
function cubicFactors(a: number, t: number): readonly number[] {
  const near = (x: number) => ((a + 2) * x - (a + 3)) * x * x + 1;
  const far = (x: number) => ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return [far(1 + t), near(t), near(1 - t), far(2 - t)];
}

function cubicTaps(node: Node, x: number, length: number): Tap[] {
  const { cubicCoeffA, excludeOutside } = resizeAttributes(node);
  const base = Math.floor(x);
  const factors = cubicFactors(cubicCoeffA, x - base);
  const taps = factors.map((factor, i) => ({ index: base - 1 + i, factor }));
  if (!excludeOutside) {
    return taps.map(({ index, factor }) => ({ index: clamp(index, length), factor }));
  }
  const inside = taps.filter(({ index }) => index >= 0 && index < length);
  const sum = inside.reduce((total, { factor }) => total + factor, 0);
  return inside.map(({ index, factor }) => ({ index, factor: factor / sum }));
}

function linearTaps(x: number, length: number): Tap[] {
  const at = Math.min(Math.max(x, 0), length - 1);
  const low = Math.floor(at);
  const taps = [
    { index: low, factor: 1 - (at - low) },
    { index: clamp(low + 1, length), factor: at - low },
  ];
  return taps.filter(({ factor }) => factor !== 0);
}

/** Undefined where the node's modes are not ones that can be taken apart by axes. */
export function tapsOf(node: Node, axis: AxisScale, index: number): readonly Tap[] | undefined {
  // An axis that keeps its scale is copied whatever the mode.
  if (axis.scale === 1) return [{ index, factor: 1 }];
  const { antialias, coordinateTransformationMode, mode, nearestMode } = resizeAttributes(node);
  const x = coordinate(coordinateTransformationMode, index, axis);
  if (x === undefined || antialias) return undefined;
  switch (mode) {
    case 'nearest': {
      const at = clamp(nearest(nearestMode, x, axis.scale < 1), axis.inputLength);
      return [{ index: at, factor: 1 }];
    }
    case 'linear':
      return linearTaps(x, axis.inputLength);
    case 'cubic':
      return cubicTaps(node, x, axis.inputLength);
    default:
      return undefined;
  }
}
