/**
 * Resize in forms that opset 17 lacks (antialiased; symmetric half pixels) as products with its interpolation matrices, one for
 * each axis that changes. The matrix is what the runtime makes of the identity: no arithmetic of Resize is repeated here.
 */
import { resizeAttributes } from '../../graph/attributes/resize.ts';
import { type Graph, type Node, withAttributes } from '../../graph/graph.ts';
import { positiveAxis } from '../../graph/ops/rule.ts';
import { float32Tensor, float32View, int64Tensor, readIntegers, type Tensor } from '../../graph/tensor.ts';
import { measureWhatIsNew } from './measureValues.ts';
import type { Pass } from './pass.ts';

/** Needs concrete shapes in `graph.values`. What it cannot write so is left to lifting, which refuses it. */
export const resizesToProducts: Pass = async (model, context) => {
  const { graph } = model;
  const initializers = new Map(graph.initializers);
  const nodes = graph.nodes.flatMap((node) => productsOf(graph, node, initializers) ?? [node]);
  if (nodes.length === graph.nodes.length && nodes.every((node, i) => node === graph.nodes[i])) return model;
  return measureWhatIsNew({ ...model, graph: { ...graph, nodes, initializers } }, context);
};

function isNewForm(node: Node): boolean {
  const { antialias, coordinateTransformationMode: mode, keepAspectRatioPolicy } = resizeAttributes(node);
  return keepAspectRatioPolicy === 'stretch' && (antialias || mode === 'half_pixel_symmetric');
}

interface ResizedAxis {
  readonly axis: number;
  readonly input: number;
  readonly output: number;
  /** Undefined where the node gives lengths. */
  readonly scale: number | undefined;
}

/** Undefined where the scales are no constants, or something is cropped. */
function axesOf(node: Node, graph: Graph): readonly ResizedAxis[] | undefined {
  const [input, output] = [shapeOf(graph, node.inputs[0]), shapeOf(graph, node.outputs[0])];
  const scales = graph.initializers.get(node.inputs[2] ?? '');
  const byScales = scales !== undefined && scales.dims[0] !== 0;
  const sizes = graph.initializers.get(node.inputs[3] ?? '');
  if (input === undefined || output === undefined || (!byScales && sizes === undefined)) return undefined;
  const { axes = input.map((_, axis) => axis) } = resizeAttributes(node);
  const count = byScales ? float32View(scales).length : readIntegers(sizes ?? int64Tensor([])).length;
  if (count !== axes.length) return undefined;
  return axes.flatMap((given, i): ResizedAxis[] => {
    const axis = positiveAxis(given, input.length);
    const lengths = { input: input[axis] ?? 1, output: output[axis] ?? 1 };
    const scale = byScales ? float32View(scales)[i] : undefined;
    const same = scale === undefined ? lengths.input === lengths.output : scale === 1;
    return same ? [] : [{ axis, ...lengths, scale }];
  });
}

function productsOf(
  graph: Graph,
  node: Node,
  initializers: Map<string, Tensor>,
): readonly Node[] | undefined {
  if (node.opType !== 'Resize' || node.domain !== '' || !isNewForm(node)) return undefined;
  const shape = shapeOf(graph, node.inputs[0]);
  const axes = axesOf(node, graph);
  const [input = '', output = ''] = [node.inputs[0], node.outputs[0]];
  if (shape === undefined || axes === undefined || dataTypeOf(graph, input) !== 'float32') return undefined;
  if (axes.some(({ axis }) => axis < Math.max(2, shape.length - 3))) return undefined;
  const nodes: Node[] = [];
  const add = (
    opType: string,
    inputs: readonly string[],
    name: string,
    attributes: Node['attributes'] = new Map(),
  ): string => {
    nodes.push({
      name: `${node.name}/${name}`,
      opType,
      domain: '',
      inputs,
      outputs: [`${output}/${name}`],
      attributes,
    });
    return `${output}/${name}`;
  };
  const constant = (name: string, tensor: Tensor): string => {
    initializers.set(`${output}/${name}`, tensor);
    return `${output}/${name}`;
  };
  const matrix = ({ axis, input: length, output: resized, scale }: ResizedAxis): string => {
    const identity = Float32Array.from({ length: length * length }, (_, i) =>
      i % (length + 1) === 0 ? 1 : 0,
    );
    const source = constant(`identity${axis}`, float32Tensor([length, length], identity));
    const inputs =
      scale === undefined
        ? [source, '', '', constant(`lengths${axis}`, int64Tensor([resized, length]))]
        : [source, '', constant(`scales${axis}`, float32Tensor([2], [scale, 1]))];
    return add('Resize', inputs, `matrix${axis}`, withAttributes(node, { axes: null }));
  };
  let value = input;
  const rank = shape.length;
  const lengths = [...shape];
  // Rows last: where they are divided, what is gathered for them is narrow by then.
  for (const resized of axes.toReversed()) {
    const { axis } = resized;
    const rows = matrix(resized);
    lengths[axis] = resized.output;
    if (axis === rank - 1) {
      const columns = add('Transpose', [rows], `columns${axis}`);
      value = add('MatMul', [value, columns], `product${axis}`);
    } else if (axis === rank - 2) {
      value = add('MatMul', [rows, value], `product${axis}`);
    } else {
      // Depth: the axes behind it are one while it is multiplied.
      const before = shape.slice(0, axis).map(() => 0);
      const flat = constant(`flat${axis}`, int64Tensor([...before, resized.input, -1]));
      const restored = constant(`shape${axis}`, int64Tensor([...before, ...lengths.slice(axis)]));
      const product = add(
        'MatMul',
        [rows, add('Reshape', [value, flat], `flattened${axis}`)],
        `product${axis}`,
      );
      value = add('Reshape', [product, restored], `restored${axis}`);
    }
  }
  nodes.push({
    name: node.name,
    opType: 'Identity',
    domain: '',
    inputs: [value],
    outputs: [output],
    attributes: new Map(),
  });
  return nodes;
}

function infoOf(graph: Graph, value = '') {
  const all = [...graph.inputs, ...graph.outputs];
  return graph.values.get(value) ?? all.find(({ name }) => name === value);
}

function dataTypeOf(graph: Graph, value: string) {
  return infoOf(graph, value)?.dataType;
}

function shapeOf(graph: Graph, value = ''): readonly number[] | undefined {
  const shape = infoOf(graph, value)?.shape;
  const lengths = shape?.filter((dim) => typeof dim === 'number');
  return lengths?.length === shape?.length ? lengths : undefined;
}
