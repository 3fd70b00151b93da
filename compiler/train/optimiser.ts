/** Stochastic gradient descent with Nesterov momentum over typed arrays, and the learning rate along a run. */
import type { Parameters } from './parameters.ts';

export interface SgdOptions {
  readonly momentum: number;
  /** Pulls weights of two or more axes towards 0; biases and scales are left alone. */
  readonly weightDecay: number;
  /** The gradients' common norm is cut to this; Infinity switches it off. */
  readonly clipNorm: number;
}

/**
 * One step in place. Returns the norm of all gradients before clipping. What a mask removes does not move.
 * A norm that is not finite changes nothing, so that one bad batch does not ruin a run.
 */
export function sgdStep(
  parameters: Parameters,
  gradients: ReadonlyMap<string, Float32Array>,
  rate: number,
  { momentum, weightDecay, clipNorm }: SgdOptions,
): number {
  let square = 0;
  for (const [name, { mask }] of parameters) {
    const gradient = gradients.get(name) ?? new Float32Array();
    for (let i = 0; i < gradient.length; i++) if (mask?.[i] !== 0) square += (gradient[i] ?? 0) ** 2;
  }
  const norm = Math.sqrt(square);
  if (!Number.isFinite(norm)) return norm;
  const clip = norm > clipNorm ? clipNorm / norm : 1;
  for (const [name, { dims, value, velocity, mask }] of parameters) {
    const gradient = gradients.get(name);
    if (gradient === undefined) continue;
    const decay = dims.length >= 2 ? weightDecay : 0;
    for (let i = 0; i < value.length; i++) {
      if (mask?.[i] === 0) {
        velocity[i] = 0;
        continue;
      }
      const weight = value[i] ?? 0;
      const slope = clip * (gradient[i] ?? 0) + decay * weight;
      const speed = momentum * (velocity[i] ?? 0) + slope;
      velocity[i] = speed;
      value[i] = weight - rate * (slope + momentum * speed);
    }
  }
  return norm;
}

export interface RateSchedule {
  /** `cosine` falls from the peak after the warm-up; `one-cycle` rises for 30 % of the steps, then falls. */
  readonly type: 'cosine' | 'one-cycle' | 'constant';
  readonly peak: number;
  /** Steps in which the rate rises linearly from near 0; not used by `one-cycle`. */
  readonly warmUpSteps: number;
  readonly steps: number;
}

const oneCycleRise = 0.3;

/** Steps count from 0. */
export function rateAt({ type, peak, warmUpSteps, steps }: RateSchedule, step: number): number {
  const rise = type === 'one-cycle' ? oneCycleRise * steps : warmUpSteps;
  if (step < rise) return (peak * (step + 1)) / Math.max(1, rise);
  if (type === 'constant') return peak;
  const progress = (step - rise) / Math.max(1, steps - rise);
  return 0.5 * peak * (1 + Math.cos(Math.PI * Math.min(1, progress)));
}
