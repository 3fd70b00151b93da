/**
 * The model.json of a TF.js layers-model as data: its schema, and Sequential models rewritten as functional ones.
 * What the layers mean is in layers.ts.
 */
import * as v from 'valibot';
import { StarlingError } from '../../protocol/errors.ts';

const Quantization = v.union([
  v.object({ dtype: v.literal('float16') }),
  v.object({ dtype: v.picklist(['uint8', 'uint16']), scale: v.number(), min: v.number() }),
]);

const WeightSpec = v.object({
  name: v.string(),
  shape: v.array(v.pipe(v.number(), v.integer(), v.minValue(0))),
  dtype: v.string(),
  quantization: v.optional(Quantization),
});

const WeightGroup = v.object({ paths: v.array(v.string()), weights: v.array(WeightSpec) });

/** [layer name, index of the layer's call, index of the call's output, call arguments]. */
const TensorReference = v.looseTuple([v.string(), v.number(), v.number()]);

const Layer = v.object({
  class_name: v.string(),
  name: v.optional(v.string()),
  config: v.looseObject({ name: v.optional(v.string()) }),
  inbound_nodes: v.optional(v.array(v.array(TensorReference))),
});

const ModelConfig = v.object({
  name: v.optional(v.string(), 'model'),
  layers: v.array(Layer),
  input_layers: v.optional(v.array(TensorReference)),
  output_layers: v.optional(v.array(TensorReference)),
});

const ModelJson = v.object({
  format: v.optional(v.string()),
  modelTopology: v.object({
    model_config: v.object({ class_name: v.string(), config: ModelConfig }),
  }),
  weightsManifest: v.array(WeightGroup),
});

export type WeightSpec = v.InferOutput<typeof WeightSpec>;
export type WeightGroup = v.InferOutput<typeof WeightGroup>;

export interface TensorReference {
  readonly layer: string;
  readonly call: number;
  readonly output: number;
}

export interface TfjsLayer {
  readonly name: string;
  readonly className: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The inputs of each call of the layer; none for an input layer. */
  readonly calls: readonly (readonly TensorReference[])[];
}

export interface TfjsModel {
  readonly name: string;
  readonly layers: readonly TfjsLayer[];
  readonly inputs: readonly TensorReference[];
  readonly outputs: readonly TensorReference[];
  readonly weightGroups: readonly WeightGroup[];
}

/** Throws StarlingError MODEL_UNREADABLE, or MODEL_UNSUPPORTED for a TF.js model of another kind. */
export function parseModelJson(json: unknown): TfjsModel {
  if (isGraphModel(json)) {
    throw new StarlingError(
      'MODEL_UNSUPPORTED',
      'Expected a TF.js layers-model, got a graph-model; convert the original Keras model with `--output_format tfjs_layers_model`.',
    );
  }
  const parsed = v.safeParse(ModelJson, json);
  if (!parsed.success) {
    const issue = parsed.issues[0];
    throw new StarlingError(
      'MODEL_UNREADABLE',
      `This is not the model.json of a TF.js layers-model: ${v.getDotPath(issue) ?? 'file'}: ${issue.message}.`,
    );
  }
  const { model_config } = parsed.output.modelTopology;
  const { config } = model_config;
  const layers = config.layers.map(({ name, class_name: className, config, inbound_nodes = [] }) => ({
    name: name ?? String(config.name ?? className),
    className,
    config,
    calls: inbound_nodes.map((call) => call.map(reference)),
  }));
  const base = { name: config.name, weightGroups: parsed.output.weightsManifest };
  switch (model_config.class_name) {
    case 'Functional':
    case 'Model':
      return {
        ...base,
        layers,
        inputs: (config.input_layers ?? []).map(reference),
        outputs: (config.output_layers ?? []).map(reference),
      };
    case 'Sequential':
      return { ...base, ...chained(layers) };
    default:
      throw new StarlingError(
        'MODEL_UNSUPPORTED',
        `Expected a Functional or Sequential model, got class ${model_config.class_name}.`,
      );
  }
}

function isGraphModel(json: unknown): boolean {
  return typeof json === 'object' && json !== null && 'format' in json && json.format === 'graph-model';
}

function reference([layer, call, output]: readonly [string, number, number, ...unknown[]]): TensorReference {
  return { layer, call, output };
}

/** A Sequential model's layers name no inputs: each one reads the layer before it. */
function chained(layers: readonly TfjsLayer[]): Pick<TfjsModel, 'layers' | 'inputs' | 'outputs'> {
  const first = layers[0];
  const last = layers.at(-1);
  if (first === undefined || last === undefined) {
    throw new StarlingError('MODEL_UNREADABLE', 'The model has no layers.');
  }
  const ref = (layer: string): TensorReference => ({ layer, call: 0, output: 0 });
  const hasInput = first.className === 'InputLayer';
  const input: TfjsLayer = hasInput
    ? first
    : { name: 'input', className: 'InputLayer', config: first.config, calls: [] };
  const rest = hasInput ? layers.slice(1) : layers;
  return {
    layers: [
      input,
      ...rest.map((layer, i) => ({ ...layer, calls: [[ref(rest[i - 1]?.name ?? input.name)]] })),
    ],
    inputs: [ref(input.name)],
    outputs: [ref(last.name)],
  };
}
