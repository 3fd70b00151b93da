/** One picture through a session whose plan gives scores of classes: the likeliest by name. Shows nothing. */
import { StarlingError } from '../protocol/errors.ts';
import { decodeScaled } from './picture.ts';
import type { Fit } from './pictureFit.ts';
import type { RunOptions, RunReport, Session } from './session.ts';
import { type ImageLayout, imageLayout, normalisations, pixelsToTensor, topValues } from './tensorImages.ts';
import type { TensorLike } from './tensors.ts';

export interface ClassifyOptions extends RunOptions {
  /** How many classes are told, at most; default 5. */
  readonly top?: number | undefined;
  /** How a picture of another shape fills the input; default `crop`, its middle. */
  readonly fit?: Fit | undefined;
}

export interface ClassScore {
  readonly index: number;
  /** As the plan names it, else its index. */
  readonly name: string;
  /** 0 to 1; over all classes they are 1 together. */
  readonly probability: number;
}

export interface Classification {
  /** The likeliest first. */
  readonly top: readonly ClassScore[];
  readonly report: RunReport;
}

/**
 * Whatever this browser can decode, fitted to the plan's input; the plan takes its 8-bit pixels (`compile --pixels in`).
 * Rejects INPUT_INVALID for a plan of another kind, IMAGE_UNREADABLE, and as `Session.run` does.
 */
export async function classify(
  session: Session,
  picture: Blob,
  { top = 5, fit = 'crop', ...options }: ClassifyOptions = {},
): Promise<Classification> {
  const { layout } = classifierEnds(session);
  const { data } = await decodeScaled(picture, layout, fit);
  return classifyPixels(session, data, { ...options, top });
}

/** The same of RGBA bytes that have the size of the plan's input already. */
export async function classifyPixels(
  session: Session,
  rgba: Uint8ClampedArray,
  { top = 5, ...options }: Omit<ClassifyOptions, 'fit'> = {},
): Promise<Classification> {
  const { input, output, layout } = classifierEnds(session);
  const values = pixelsToTensor(rgba, layout, { normalisation: normalisations.pixels, colours: 'RGB' });
  const feed: TensorLike = { data: Uint8Array.from(values), dims: input.shape };
  let report: RunReport | null = null;
  const outputs = await session.run(
    { [input.name]: feed },
    {
      ...options,
      onReport(one) {
        report = one;
        options.onReport?.(one);
      },
    },
  );
  const scores = outputs[output.name]?.data;
  if (!(scores instanceof Float32Array) || report === null)
    throw new StarlingError('RUN_FAILED', 'The plan gave no scores.');
  return { top: likeliest(scores, session.plan.classes, top), report };
}

/** Size and order of the pixels that the plan takes. Throws INPUT_INVALID where it is no classifier of 8-bit pictures. */
export function classifierEnds({ plan }: Session) {
  const [input, output] = [plan.inputs[0], plan.outputs[0]];
  const layout: ImageLayout | null = imageLayout(input?.shape ?? []);
  const isScores = output?.dataType === 'float32' && (output.shape.at(-1) ?? 0) > 1;
  const isList = output?.shape.slice(0, -1).every((dim) => dim === 1) === true;
  const isPicture = plan.inputs.length === 1 && input?.dataType === 'uint8' && layout !== null;
  if (input !== undefined && output !== undefined && isPicture && isScores && isList)
    return { input, output, layout };
  throw new StarlingError(
    'INPUT_INVALID',
    `The plan "${plan.name}" does not name pictures: it needs one picture of 8-bit pixels as its input (compile it with --pixels in) and one list of scores as its output.`,
  );
}

/** Scores that are no probabilities yet become some (softmax). */
export function likeliest(scores: Float32Array, classes: readonly string[], count: number): ClassScore[] {
  const sum = scores.reduce((a, b) => a + b, 0);
  const isShares = scores.every((score) => score >= 0) && Math.abs(sum - 1) < 1e-3;
  const largest = scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const weights = isShares ? scores : scores.map((score) => Math.exp(score - largest));
  const whole = weights.reduce((a, b) => a + b, 0);
  return topValues(weights, count).map(({ index, value }) => ({
    index,
    name: classes[index] ?? `class ${index}`,
    probability: value / whole,
  }));
}
