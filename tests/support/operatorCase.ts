/** One operator with concrete inputs, as the tests of the operator rules make them up. */
import type { Attribute, Graph, Node } from '../../graph/graph.ts';
import { randomTensor, seededRandom } from '../../graph/random.ts';
import { type DataType, float32Tensor, int64Tensor, type Tensor } from '../../graph/tensor.ts';

export interface CaseInput {
  readonly tensor: Tensor;
  readonly constant: boolean;
}

export interface OperatorCase {
  readonly opType: string;
  readonly attributes: Readonly<Record<string, Attribute>>;
  /** null is an absent optional input. */
  readonly inputs: readonly (CaseInput | null)[];
  /** Where it is not the first input's. */
  readonly outputType?: DataType;
}

export const int = (value: number): Attribute => ({ type: 'int', value });
export const ints = (...value: number[]): Attribute => ({ type: 'ints', value });
export const float = (value: number): Attribute => ({ type: 'float', value });
export const text = (value: string): Attribute => ({ type: 'string', value });

let nextSeed = 1;

/** Random values; two tensors of one case never share their numbers. */
export function random(dims: readonly number[], dataType: DataType = 'float32'): Tensor {
  nextSeed = (nextSeed * 48271) % 2147483647;
  return randomTensor(dataType, dims, seededRandom(nextSeed));
}

export const given = (tensor: Tensor): CaseInput => ({ tensor, constant: false });
export const fixed = (tensor: Tensor): CaseInput => ({ tensor, constant: true });
export const activation = (dims: readonly number[], dataType: DataType = 'float32'): CaseInput =>
  given(random(dims, dataType));
export const weight = (dims: readonly number[], dataType: DataType = 'float32'): CaseInput =>
  fixed(random(dims, dataType));
export const indices = (values: readonly number[], dims?: readonly number[]): CaseInput =>
  fixed(int64Tensor(values, dims));
export const floats = (...values: number[]): CaseInput => fixed(float32Tensor([values.length], values));

/** The attributes that are there: generators give undefined for those they leave out. */
export function present(
  attributes: Readonly<Record<string, Attribute | undefined>>,
): Record<string, Attribute> {
  const result: Record<string, Attribute> = {};
  for (const [name, attribute] of Object.entries(attributes)) {
    if (attribute !== undefined) result[name] = attribute;
  }
  return result;
}

/** The case as a node whose names begin with `prefix`, with its inputs as graph inputs or initializers. */
export function caseGraph(operator: OperatorCase, prefix: string): Graph & { readonly node: Node } {
  const inputs: Graph['inputs'][number][] = [];
  const initializers = new Map<string, Tensor>();
  const names = operator.inputs.map((input, i) => {
    if (input === null) return '';
    const name = `${prefix}in${i}`;
    const { dataType, dims } = input.tensor;
    if (input.constant) initializers.set(name, input.tensor);
    else inputs.push({ name, dataType, shape: dims });
    return name;
  });
  const output = `${prefix}out`;
  const node: Node = {
    name: `${prefix}node`,
    opType: operator.opType,
    domain: '',
    inputs: names,
    outputs: [output],
    attributes: new Map(Object.entries(operator.attributes)),
  };
  const dataType = operator.outputType ?? operator.inputs[0]?.tensor.dataType ?? 'float32';
  return {
    name: 'case', node, nodes: [node], inputs, initializers, values: new Map(),
    outputs: [{ name: output, dataType }],
  }; // biome-ignore format: one record
}

/** One line that says which case it was. */
export function describeCase({ opType, attributes, inputs }: OperatorCase): string {
  const parts = Object.entries(attributes).map(([name, { value }]) => `${name}=${JSON.stringify(value)}`);
  const shapes = inputs.map((input) => {
    if (input === null) return '-';
    const { dims, data, dataType } = input.tensor;
    const content =
      input.constant && dataType === 'int64' ? `=${new BigInt64Array(data.slice().buffer)}` : '';
    return `${input.constant ? 'const ' : ''}${dataType}[${dims}]${content}`;
  });
  return `${opType}(${shapes.join(', ')}) ${parts.join(' ')}`;
}

/** What Resize may be told of coordinates and of the nearest element; `tf_crop_and_resize` wants a box beside. */
export const transformations = [
  'half_pixel',
  'pytorch_half_pixel',
  'asymmetric',
  'align_corners',
  'tf_half_pixel_for_nn',
];
export const roundings = ['round_prefer_floor', 'round_prefer_ceil', 'floor', 'ceil'];
