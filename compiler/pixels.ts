/**
 * Gives a model 8-bit pictures at its ends: pixels travel as bytes, a quarter of float32, and are turned into the
 * model's numbers on the devices, inside the graph. Conversion in is exact; out it rounds to whole pixels.
 */
import type { Attribute, Model, Node, ValueInfo } from '../graph/graph.ts';
import { renameReads } from '../graph/rename.ts';
import { float32Tensor, type Tensor } from '../graph/tensor.ts';
import type { PixelOptions, PixelOutput } from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';

export type { PixelOptions, PixelOutput } from '../protocol/compileChoices.ts';

class Ends {
  readonly nodes: Node[] = [];
  readonly initializers: Map<string, Tensor>;
  readonly values: Map<string, ValueInfo>;

  constructor({ graph }: Model) {
    this.initializers = new Map(graph.initializers);
    this.values = new Map(graph.values);
  }

  /** Adds an element-wise node; `operand` becomes a constant. */
  node(
    opType: string,
    input: string,
    output: ValueInfo,
    operands: readonly Tensor[],
    attributes = {},
  ): string {
    const constants = operands.map((tensor, i) => {
      const name = `${output.name}/operand${i}`;
      this.initializers.set(name, tensor);
      return name;
    });
    this.nodes.push({
      name: `pixels:${output.name}`,
      opType,
      domain: '',
      inputs: [input, ...constants],
      outputs: [output.name],
      attributes: new Map<string, Attribute>(Object.entries(attributes)),
    });
    this.values.set(output.name, output);
    return output.name;
  }
}

const castTo = (code: number) => ({ to: { type: 'int', value: code } as const });
const float32Code = 1;
const uint8Code = 2;
const maxClasses = 256;

/** Throws MODEL_UNSUPPORTED where an end is no float picture [N, C, H, W]. */
export function pixelEnds(model: Model, options: PixelOptions): Model {
  const withInput = options.input === undefined ? model : pixelInput(model, options.input);
  if (options.output === undefined) return withInput;
  return byteOutput(withInput, 'classes' in options.output ? classes : pixels(options.output));
}

function pictureOf(values: readonly ValueInfo[], end: string): ValueInfo {
  const picture = values.find(({ dataType, shape }) => dataType === 'float32' && shape?.length === 4);
  if (picture !== undefined) return picture;
  throw new StarlingError(
    'MODEL_UNSUPPORTED',
    `Expected a float32 ${end} [N, C, H, W] to turn into pixels, and the model has none; compile without --pixels.`,
  );
}

function perChannel(values: readonly number[]): Tensor {
  return float32Tensor(values.length === 1 ? [] : [values.length, 1, 1], values);
}

function pixelInput(model: Model, { scale, mean, std }: NonNullable<PixelOptions['input']>): Model {
  const picture = pictureOf(model.graph.inputs, 'input');
  const ends = new Ends(model);
  const info = (suffix: string): ValueInfo => ({ ...picture, name: `${picture.name}/${suffix}` });
  let last = ends.node('Cast', picture.name, info('float'), [], castTo(float32Code));
  if (scale !== 1) last = ends.node('Div', last, info('scaled'), [float32Tensor([], [scale])]);
  if (mean !== undefined) last = ends.node('Sub', last, info('centred'), [perChannel(mean)]);
  if (std !== undefined) last = ends.node('Div', last, info('normalised'), [perChannel(std)]);
  const names = new Map([[picture.name, last]]);
  return {
    ...model,
    graph: {
      ...model.graph,
      inputs: model.graph.inputs.map((input) =>
        input.name === picture.name ? { ...picture, dataType: 'uint8' as const } : input,
      ),
      nodes: [...ends.nodes, ...model.graph.nodes.map((node) => renameReads(node, names))],
      initializers: ends.initializers,
      values: ends.values,
    },
  };
}

/** Nodes from the model's float output to whole numbers from 0 to 255, still floats or not; gives the last value. */
type ToBytes = (ends: Ends, source: ValueInfo, output: ValueInfo) => string;

const pixels =
  ({ scale }: Extract<PixelOutput, { scale: number }>): ToBytes =>
  (ends, source, { name }) => {
    const info = (suffix: string): ValueInfo => ({ ...source, name: `${name}/${suffix}` });
    let last = ends.node('Mul', source.name, info('scaled'), [float32Tensor([], [scale])]);
    last = ends.node('Clip', last, info('clipped'), [float32Tensor([], [0]), float32Tensor([], [255])]);
    return ends.node('Round', last, info('rounded'), []);
  };

const classes: ToBytes = (ends, source, { name }) => {
  const [batch = null, count = null, ...place] = source.shape ?? [];
  if (typeof count !== 'number' || count > maxClasses) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      `Expected an output with the scores of at most ${maxClasses} classes, got ${count ?? 'an open number'}; compile without --classes.`,
    );
  }
  const best: ValueInfo = { name: `${name}/class`, dataType: 'int64', shape: [batch, 1, ...place] };
  return ends.node('ArgMax', source.name, best, [], { axis: { type: 'int', value: 1 } });
};

function byteOutput(model: Model, toBytes: ToBytes): Model {
  const picture = pictureOf(model.graph.outputs, 'output');
  const ends = new Ends(model);
  const source: ValueInfo = { ...picture, name: `${picture.name}/float` };
  const last = toBytes(ends, source, picture);
  const output: ValueInfo = { ...(ends.values.get(last) ?? picture), name: picture.name, dataType: 'uint8' };
  ends.node('Cast', last, output, [], castTo(uint8Code));
  ends.values.set(source.name, source);
  const rename = (name: string) => (name === picture.name ? source.name : name);
  const nodes = model.graph.nodes.map((node) => ({
    ...node,
    inputs: node.inputs.map(rename),
    outputs: node.outputs.map(rename),
  }));
  return {
    ...model,
    graph: {
      ...model.graph,
      outputs: model.graph.outputs.map((given) => (given.name === picture.name ? output : given)),
      nodes: [...nodes, ...ends.nodes],
      initializers: ends.initializers,
      values: ends.values,
    },
  };
}
