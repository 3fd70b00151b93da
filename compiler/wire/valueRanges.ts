/** What lies between the smallest and the largest element of values on sample inputs, feature by feature or for all of them. */
import type { Model } from '../../graph/graph.ts';
import type { Backend } from '../../runtime/backend.ts';
import { assertCalibration, assertFinite, type Calibration } from '../calibrate/calibration.ts';
import { type Observed, openPrefix } from '../calibrate/prefix.ts';

export interface ValueRange {
  /** One for each feature, or one for all. */
  readonly low: Float32Array;
  readonly high: Float32Array;
}

/** `features`: axis of the features of each value, or undefined for one range over all of them. */
export async function valueRanges(
  model: Model,
  features: ReadonlyMap<string, number | undefined>,
  calibration: Calibration,
  backend: Backend,
): Promise<ReadonlyMap<string, ValueRange>> {
  assertCalibration(calibration);
  const ranges = new Map<string, ValueRange>();
  const prefix = await openPrefix(model, [...features.keys()], backend);
  try {
    for await (const batch of calibration.batches()) {
      for (const [name, value] of await prefix.run(batch)) {
        assertFinite(value.data, `"${name}"`);
        const axis = features.get(name);
        const count = axis === undefined ? 1 : (value.dims[axis] ?? 1);
        const range = ranges.get(name) ?? emptyRange(count);
        ranges.set(name, range);
        widen(range, value, axis);
      }
    }
  } finally {
    await prefix.release();
  }
  return ranges;
}

/** Zero is always within: padding, and what a rectifier cuts off, must stay exact. */
function emptyRange(count: number): ValueRange {
  return { low: new Float32Array(count), high: new Float32Array(count) };
}

function widen({ low, high }: ValueRange, { dims, data }: Observed, axis: number | undefined): void {
  const count = low.length;
  const inner =
    axis === undefined ? data.length : dims.slice(axis + 1).reduce((product, dim) => product * dim, 1);
  for (let start = 0, feature = 0; start < data.length; start += inner) {
    let least = low[feature] ?? 0;
    let most = high[feature] ?? 0;
    for (let i = start; i < start + inner; i++) {
      const element = data[i] as number;
      if (element < least) least = element;
      if (element > most) most = element;
    }
    low[feature] = least;
    high[feature] = most;
    feature = feature + 1 === count ? 0 : feature + 1;
  }
}
