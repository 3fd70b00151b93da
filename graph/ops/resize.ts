/**
 * Resize (opset 13): X, roi, scales, sizes. Axes that keep their length pass through. Along a resized axis a part is
 * the strip of the inputs resized and cropped where the factor is a whole number; else the other axes are resized
 * first, and this one by selecting rows (nearest) or by a product with the part's rows of the interpolation matrix.
 */
import { resizeAttributes } from '../attributes/resize.ts';
import { fromIndices, type Ranges, range, size, toIndices } from '../ranges.ts';
import { elementCount, float32Tensor, float32View, int64Tensor } from '../tensor.ts';
import { type AxisScale, type Tap, tapsOf } from './resizeSampling.ts';
import type { LocalInput, NodeView, OpRule, Part, PartBuilder, Slab } from './rule.ts';
import { emitSelection, inOrder } from './select.ts';

/** One scale per axis, or undefined where they are computed at run time. */
function scalesOf(view: NodeView): readonly number[] | undefined {
  const input = view.inputShape(0);
  // onnxruntime copies where no length changes, whatever the factors.
  if (input.join() === view.outputShape.join()) return input.map(() => 1);
  const given = (view.node.inputs[2] ?? '') === '' ? undefined : view.constant(2);
  if (given !== undefined && elementCount(given.dims) > 0) return [...float32View(given)];
  if ((view.node.inputs[3] ?? '') === '' || view.constant(3) === undefined) return undefined;
  return view.outputShape.map((dim, axis) => dim / (input[axis] ?? 1));
}

function axisScale(view: NodeView, axis: number): AxisScale | undefined {
  const scale = scalesOf(view)?.[axis];
  if (scale === undefined) return undefined;
  return { inputLength: view.inputShape(0)[axis] ?? 1, outputLength: view.outputShape[axis] ?? 1, scale };
}

function indicesRead(taps: readonly (readonly Tap[])[]): Ranges {
  return fromIndices(taps.flatMap((list) => list.map(({ index }) => index)));
}

/** Taps of each wanted output index. */
function tapsFor(view: NodeView, { axis, ranges }: Slab): readonly (readonly Tap[])[] | undefined {
  const scale = axisScale(view, axis);
  if (scale === undefined) return undefined;
  const taps = toIndices(ranges).map((index) => tapsOf(view.node, scale, index));
  return taps.every((list) => list !== undefined) ? (taps as readonly (readonly Tap[])[]) : undefined;
}

/**
 * The input range whose resizing by a whole factor holds the wanted outputs just as the whole would, or undefined
 * where the factor is none, coordinates depend on the length, or there are several runs.
 */
function stripOf(view: NodeView, slab: Slab): Ranges | undefined {
  const scale = axisScale(view, slab.axis);
  const { coordinateTransformationMode: mode } = resizeAttributes(view.node);
  const [run] = slab.ranges;
  if (scale === undefined || run === undefined || slab.ranges.length > 1 || mode === 'align_corners') {
    return undefined;
  }
  const taps = tapsFor(view, slab);
  const read = taps === undefined ? [] : indicesRead(taps);
  const factor = scale.scale;
  const exact = factor * scale.inputLength === scale.outputLength;
  if (!Number.isInteger(factor) || !exact || read.length === 0) return undefined;
  const low = Math.min(read[0]?.[0] ?? 0, Math.floor(run[0] / factor));
  const high = Math.max(read.at(-1)?.[1] ?? 0, Math.ceil(run[1] / factor));
  const strip = range(low, high);
  return agrees(view, slab, scale, strip) ? strip : undefined;
}

/** Whether the strip alone reads, for every wanted index, the same inputs with the same factors as the whole does. */
function agrees(view: NodeView, slab: Slab, scale: AxisScale, strip: Ranges): boolean {
  const start = strip[0]?.[0] ?? 0;
  const length = size(strip);
  const local = { inputLength: length, outputLength: length * scale.scale, scale: scale.scale };
  return toIndices(slab.ranges).every((index) => {
    const whole = tapsOf(view.node, scale, index) ?? [];
    const part = tapsOf(view.node, local, index - start * scale.scale) ?? [];
    const factors = new Map<number, number>();
    for (const tap of whole) factors.set(tap.index, (factors.get(tap.index) ?? 0) + tap.factor);
    for (const tap of part)
      factors.set(tap.index + start, (factors.get(tap.index + start) ?? 0) - tap.factor);
    return [...factors.values()].every((difference) => Math.abs(difference) < 1e-5);
  });
}

/** Whether some axis has a factor but keeps its length: resizing that axis alone would be taken for a copy. */
function copiedAxis(view: NodeView): boolean {
  return view.outputShape.some((dim, axis) => {
    const scale = axisScale(view, axis);
    return scale !== undefined && scale.scale !== 1 && dim === scale.inputLength;
  });
}

/** Only the last two axes have a matrix product of their own. */
function hasProduct(view: NodeView, axis: number): boolean {
  return axis >= view.outputShape.length - 2 && view.outputShape.length >= 2;
}

/** The input that says which box is cropped (tf_crop_and_resize); '' where nothing is. */
function cropName(view: NodeView): string {
  const { coordinateTransformationMode: mode } = resizeAttributes(view.node);
  return mode === 'tf_crop_and_resize' ? (view.node.inputs[1] ?? '') : '';
}

/** Whether the box may be narrower than the input along an axis: a part would be cropped once more. */
function cropsAlong(view: NodeView, axis: number): boolean {
  if (cropName(view) === '') return false;
  const box = view.constant(1);
  const limits = box?.dataType === 'float32' ? float32View(box) : undefined;
  return limits?.[axis] !== 0 || limits[view.outputShape.length + axis] !== 1;
}

/** Resize with this length along the part's axis: by scales, else by sizes. */
function emitResize(
  view: NodeView,
  part: Part,
  builder: PartBuilder,
  name: string,
  scale: number,
  length: number,
  output?: string,
): string {
  const [, , scales = '', sizes = ''] = view.node.inputs;
  const own = (values: readonly number[], value: number) =>
    values.map((other, axis) => (axis === part.axis ? value : other));
  const rest =
    sizes === ''
      ? [
          scales === ''
            ? ''
            : builder.constant(
                float32Tensor([view.outputShape.length], own(scalesOf(view) ?? [], scale)),
                'scales',
              ),
        ]
      : ['', builder.constant(int64Tensor(own(view.outputShape, length)), 'sizes')];
  const crop = cropName(view) === '' ? '' : builder.weight(cropName(view), {});
  return builder.node('Resize', [name, crop, ...rest], view.node.attributes, output);
}

function emitStrip(
  view: NodeView,
  part: Part,
  builder: PartBuilder,
  { name, order }: LocalInput,
  scale: number,
): string {
  const start = (order[0]?.[0] ?? 0) * scale;
  const held = size(order) * scale;
  const exact = held === size(part.ranges);
  const resized = emitResize(view, part, builder, name, scale, held, exact ? part.output : undefined);
  const positions = part.ranges.map(([s, e]) => [s - start, e - start] as const);
  return emitSelection(builder, resized, part.axis, positions, held, part.output);
}

/** The part's rows of the interpolation matrix, times what is held along the axis. */
function emitProduct(
  view: NodeView,
  part: Part,
  builder: PartBuilder,
  name: string,
  order: Ranges,
  taps: readonly (readonly Tap[])[],
): string {
  const columns = size(order);
  const local = new Map(toIndices(order).map((index, position) => [index, position]));
  const last = part.axis === view.outputShape.length - 1;
  const values = new Float32Array(taps.length * columns);
  taps.forEach((list, row) => {
    for (const { index, factor } of list) {
      const column = local.get(index) ?? 0;
      const at = last ? column * taps.length + row : row * columns + column;
      values[at] = (values[at] ?? 0) + factor;
    }
  });
  const matrix = builder.constant(
    float32Tensor(last ? [columns, taps.length] : [taps.length, columns], values),
    'interpolation',
  );
  builder.countMacs(
    (elementCount(view.outputShape) / (view.outputShape[part.axis] ?? 1)) * taps.length * columns,
  );
  const inputs = last ? [name, matrix] : [matrix, name];
  return builder.node('MatMul', inputs, new Map(), part.output);
}

export const resize: OpRule = {
  kind: 'pointwise',
  doc: {
    channels: 'the same channels',
    rows: 'the rows it interpolates between; not with tf_crop_and_resize',
    others: 'likewise',
  },
  needs(view, slab) {
    const taps = view.isConstant(0) ? undefined : tapsFor(view, slab);
    if (taps === undefined || cropsAlong(view, slab.axis)) return undefined;
    const rest = view.node.inputs.slice(1).map(() => 'none' as const);
    const nearest = resizeAttributes(view.node).mode === 'nearest';
    const resized = axisScale(view, slab.axis)?.scale !== 1;
    const strip = resized ? stripOf(view, slab) : undefined;
    if (resized && strip === undefined && (copiedAxis(view) || (!nearest && !hasProduct(view, slab.axis)))) {
      return undefined;
    }
    return [{ axis: slab.axis, ranges: strip ?? indicesRead(taps) }, ...rest];
  },
  emit(view, part, builder) {
    const [input] = part.inputs;
    const scale = axisScale(view, part.axis)?.scale ?? 1;
    const taps = tapsFor(view, part);
    if (input === undefined || taps === undefined) return '';
    if (scale === 1) return emitResize(view, part, builder, input.name, 1, size(part.ranges), part.output);
    if (stripOf(view, part) !== undefined) return emitStrip(view, part, builder, input, scale);
    const held = size(input.order);
    const others = scalesOf(view)?.some((other, axis) => axis !== part.axis && other !== 1) === true;
    const name = others ? emitResize(view, part, builder, input.name, 1, held) : input.name;
    if (resizeAttributes(view.node).mode !== 'nearest') {
      return emitProduct(view, part, builder, name, input.order, taps);
    }
    const local = new Map(toIndices(input.order).map((index, position) => [index, position]));
    const positions = inOrder(taps.map(([tap]) => local.get(tap?.index ?? 0) ?? 0));
    return emitSelection(builder, name, part.axis, positions, held, part.output);
  },
};
