/** One step of an optimiser over typed arrays, in place: SGD with Nesterov momentum, or AdamW. */
import type { Parameter, Parameters } from './parameters.ts';

export type OptimiserOptions = {
  /** Pulls weights of two or more axes towards 0; biases and scales are left alone. */
  readonly weightDecay: number;
  /** The gradients' common norm is cut to this; Infinity switches it off. */
  readonly clipNorm: number;
} & (
  | { readonly type: 'sgd'; readonly momentum: number }
  /** Loshchilov and Hutter 2019, with the usual constants: decay apart from the gradient. For transformers. */
  | { readonly type: 'adamw' }
);

const [adamMean, adamSquare, adamEpsilon] = [0.9, 0.999, 1e-8];

/**
 * Step counts from 0. Returns the norm of all gradients before clipping. What a mask removes does not move. A norm that is
 * not finite changes nothing, so that one bad batch does not ruin a run.
 */
export function optimiserStep(
  parameters: Parameters,
  gradients: ReadonlyMap<string, Float32Array>,
  rate: number,
  options: OptimiserOptions,
  step: number,
): number {
  let sum = 0;
  for (const [name, { mask }] of parameters) {
    const gradient = gradients.get(name) ?? new Float32Array();
    for (let i = 0; i < gradient.length; i++) if (mask?.[i] !== 0) sum += (gradient[i] ?? 0) ** 2;
  }
  const norm = Math.sqrt(sum);
  if (!Number.isFinite(norm)) return norm;
  const clip = norm > options.clipNorm ? options.clipNorm / norm : 1;
  for (const [name, parameter] of parameters) {
    const gradient = gradients.get(name);
    if (gradient === undefined) continue;
    const decay = parameter.dims.length >= 2 ? options.weightDecay : 0;
    if (options.type === 'sgd') nesterov(parameter, gradient, clip, rate, decay, options.momentum);
    else adam(parameter, gradient, clip, rate, decay, step);
  }
  return norm;
}

function nesterov(
  { value, velocity, mask }: Parameter,
  gradient: Float32Array,
  clip: number,
  rate: number,
  decay: number,
  momentum: number,
): void {
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

function adam(
  { value, velocity, square, mask }: Parameter,
  gradient: Float32Array,
  clip: number,
  rate: number,
  decay: number,
  step: number,
): void {
  if (square === undefined) throw new TypeError('AdamW needs the squares of its parameters.');
  const [meanBias, squareBias] = [1 - adamMean ** (step + 1), 1 - adamSquare ** (step + 1)];
  for (let i = 0; i < value.length; i++) {
    if (mask?.[i] === 0) {
      velocity[i] = 0;
      square[i] = 0;
      continue;
    }
    const slope = clip * (gradient[i] ?? 0);
    const mean = adamMean * (velocity[i] ?? 0) + (1 - adamMean) * slope;
    const spread = adamSquare * (square[i] ?? 0) + (1 - adamSquare) * slope * slope;
    velocity[i] = mean;
    square[i] = spread;
    const move = mean / meanBias / (Math.sqrt(spread / squareBias) + adamEpsilon);
    const weight = value[i] ?? 0;
    value[i] = weight - rate * (move + decay * weight);
  }
}
