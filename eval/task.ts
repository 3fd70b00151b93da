/** What an evaluation is: items with their truth through one or two models, a score for each. Knows no model and no data set. */

export interface Output {
  readonly name: string;
  readonly dims: readonly number[];
  readonly data: Float32Array;
}

/** Runs a model on its one input. */
export type Predict = (input: Float32Array, dims: readonly number[]) => Promise<readonly Output[]>;

/** What is run at once: one picture, or a batch of them. */
export interface Item<Truth> {
  readonly input: Float32Array;
  /** Batch x channels x height x width. */
  readonly dims: readonly number[];
  readonly truth: Truth;
  /** Pictures in it. */
  readonly count: number;
}

/** Gathers what one model made of the items. */
export interface Score<Truth> {
  /** Gives what the model decided: classes, labels of pixels, levels of a picture. Two models that decide alike give equal lists. */
  add(truth: Truth, outputs: readonly Output[]): ArrayLike<number>;
  /** By name, as papers state them: `top1` from 0 to 1, `psnrY` in dB. */
  figures(): Record<string, number>;
}

export interface Task<Truth> {
  /** Pictures in all. */
  readonly count: number;
  items(): AsyncIterable<Item<Truth>> | Iterable<Item<Truth>>;
  createScore(): Score<Truth>;
}

export interface Evaluation {
  readonly count: number;
  readonly figures: Readonly<Record<string, number>>;
  /** Of the undivided model, where it was given. */
  readonly original?: Readonly<Record<string, number>>;
  /** Share of decisions that are the original's too. */
  readonly agreement?: number;
}

export interface EvaluateOptions {
  readonly predict: Predict;
  readonly original?: Predict | undefined;
  /** After each item: pictures done. */
  readonly onProgress?: (done: number, total: number) => void;
}

export async function evaluate<Truth>(task: Task<Truth>, options: EvaluateOptions): Promise<Evaluation> {
  const { predict, original, onProgress = () => {} } = options;
  const [score, originalScore] = [task.createScore(), task.createScore()];
  const agreed = { equal: 0, all: 0 };
  let count = 0;
  for await (const { input, dims, truth, count: pictures } of task.items()) {
    const decided = score.add(truth, await predict(input, dims));
    if (original !== undefined) {
      compare(agreed, originalScore.add(truth, await original(input, dims)), decided);
    }
    count += pictures;
    onProgress(count, task.count);
  }
  const figures = score.figures();
  if (original === undefined) return { count, figures };
  return {
    count,
    figures,
    original: originalScore.figures(),
    agreement: agreed.all === 0 ? 1 : agreed.equal / agreed.all,
  };
}

function compare(
  agreed: { equal: number; all: number },
  expected: ArrayLike<number>,
  got: ArrayLike<number>,
): void {
  // What one has and the other has not is a disagreement too.
  const length = Math.max(expected.length, got.length);
  agreed.all += length;
  for (let i = 0; i < length; i++) if (expected[i] === got[i]) agreed.equal++;
}

/** The output that a task scores. Throws where the model has none. */
export function firstOutput(outputs: readonly Output[]): Output {
  const [output] = outputs;
  if (output === undefined) throw new RangeError('The model has no output.');
  return output;
}
