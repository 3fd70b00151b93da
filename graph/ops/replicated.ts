/** Operators that are computed whole wherever they are needed, and why: for docs/operators.md and reports. */

const reasons: Readonly<Record<string, readonly string[]>> = {
  'its subgraph runs as it stands': ['If', 'Loop', 'Scan'],
  'every step needs the one before': ['GRU', 'LSTM', 'RNN'],
  'it has several outputs, and a rule makes parts of one': ['TopK', 'DynamicQuantizeLinear', 'Unique'],
  'the shape of its result depends on the values': ['NonZero', 'NonMaxSuppression', 'Compress'],
  'it makes shapes or constants and costs nothing': [
    'Shape', 'Size', 'Range', 'ConstantOfShape', 'EyeLike', 'OneHot',
  ],
  'it writes wherever its indices say': ['ScatterElements', 'ScatterND', 'MaxUnpool', 'Col2Im'],
  'every part would draw its own random numbers': [
    'RandomNormal', 'RandomNormalLike', 'RandomUniform', 'RandomUniformLike', 'Multinomial', 'Bernoulli',
  ],
  'its regions lie anywhere in the map': ['RoiAlign', 'MaxRoiPool'],
  'it mixes all samples of a signal': ['DFT', 'STFT'],
  'it needs the whole matrix': ['Det'],
  'it turns sequences around, each by its own length': ['ReverseSequence'],
}; // biome-ignore format: a table reads better in few lines

export const replicatedOperators: ReadonlyMap<string, string> = new Map(
  Object.entries(reasons).flatMap(([reason, operators]) => operators.map((name) => [name, reason] as const)),
);
