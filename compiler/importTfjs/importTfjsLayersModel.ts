/**
 * A TF.js layers-model (Keras, channels last) as an ONNX graph with N x C x H x W values. Only the calls that the
 * outputs need are imported. Reads no file; the meaning of each layer is in layers.ts.
 */
import type { Dimension, Model, ValueInfo } from '../../graph/graph.ts';
import { StarlingError } from '../../protocol/errors.ts';
import { GraphBuilder, type ImportedValue } from './graphBuilder.ts';
import { unsupported } from './layerConfig.ts';
import { emitLayer } from './layers.ts';
import { parseModelJson, type TensorReference, type TfjsLayer, type TfjsModel } from './modelJson.ts';
import { readWeights, type Weight } from './readWeights.ts';

const opset = 17;
const irVersion = 8;

/**
 * `modelJson` is the parsed model.json, `weights` its weight files joined in the order of `tfjsWeightPaths`. The
 * graph keeps the layers' names for values and nodes, inputs included; its inputs are N x C x H x W float32.
 * Throws StarlingError MODEL_UNSUPPORTED naming layer and class, or MODEL_UNREADABLE.
 */
export function importTfjsLayersModel(modelJson: unknown, weights: Uint8Array): Model {
  const model = parseModelJson(modelJson);
  const calls = new CallImporter(model, readWeights(model.weightGroups, weights));
  const inputs = model.inputs.map((reference) => calls.input(reference));
  const outputs = model.outputs.map((reference) => calls.value(reference));
  if (inputs.length === 0 || outputs.length === 0) {
    throw new StarlingError('MODEL_UNREADABLE', 'The model names no inputs or no outputs.');
  }
  return {
    irVersion,
    opsets: new Map([['', opset]]),
    producer: 'starling import-tfjs',
    metadata: new Map(),
    graph: {
      name: model.name,
      inputs,
      outputs: outputs.map(({ name, channels }) => ({
        name,
        dataType: 'float32',
        shape: ['N', channels, null, null],
      })),
      nodes: calls.graph.nodes,
      initializers: calls.graph.initializers,
      values: new Map(),
    },
  };
}

/** Imports layer calls on demand, each once, so that nodes come out in topological order. */
class CallImporter {
  readonly graph = new GraphBuilder();
  readonly #layers: ReadonlyMap<string, TfjsLayer>;
  readonly #weights: ReadonlyMap<string, Weight>;
  readonly #done = new Map<string, ImportedValue>();
  readonly #open = new Set<string>();

  constructor(model: TfjsModel, weights: ReadonlyMap<string, Weight>) {
    this.#layers = new Map(model.layers.map((layer) => [layer.name, layer]));
    this.#weights = weights;
  }

  /** Declares an input layer of the model; must come before the values that read it. */
  input(reference: TensorReference): ValueInfo {
    const layer = this.#layer(reference);
    const shape = inputShape(layer);
    const channels = shape[1];
    if (typeof channels !== 'number') throw unsupported(layer, 'its number of channels is open');
    this.#done.set(key(reference), { name: layer.name, channels });
    return { name: layer.name, dataType: 'float32', shape };
  }

  value(reference: TensorReference): ImportedValue {
    const known = this.#done.get(key(reference));
    if (known !== undefined) return known;
    const layer = this.#layer(reference);
    const references = layer.calls[reference.call];
    if (references === undefined || reference.output !== 0) {
      throw new StarlingError(
        'MODEL_UNREADABLE',
        `Layer ${layer.name} (${layer.className}) is read at call ${reference.call}, output ${reference.output}, which it does not have.`,
      );
    }
    if (this.#open.has(key(reference))) {
      throw new StarlingError('MODEL_UNREADABLE', `Layer ${layer.name} reads its own output.`);
    }
    this.#open.add(key(reference));
    const inputs = references.map((input) => this.value(input));
    this.#open.delete(key(reference));
    const [input] = inputs;
    if (input === undefined) throw unsupported(layer, 'it has no input');
    const value = emitLayer({
      layer,
      graph: this.graph,
      name: reference.call === 0 ? layer.name : `${layer.name}/call_${reference.call}`,
      input,
      inputs,
      weight: (kind, rank) => this.#weight(layer, kind, rank),
    });
    this.#done.set(key(reference), value);
    return value;
  }

  #layer({ layer: name }: TensorReference): TfjsLayer {
    const layer = this.#layers.get(name);
    if (layer === undefined) {
      throw new StarlingError(
        'MODEL_UNREADABLE',
        `The model refers to layer ${name}, which it does not have.`,
      );
    }
    return layer;
  }

  #weight(layer: TfjsLayer, kind: string, rank: number): Weight {
    const name = `${layer.name}/${kind}`;
    const weight = this.#weights.get(name);
    if (weight === undefined || weight.dims.length !== rank) {
      throw new StarlingError(
        'MODEL_UNREADABLE',
        `Layer ${layer.name} (${layer.className}) needs the weight ${name} of ${rank} dimensions; the manifest has ${
          weight === undefined ? 'none of that name' : `one of shape ${weight.dims.join(' x ')}`
        }.`,
      );
    }
    return weight;
  }
}

function key({ layer, call, output }: TensorReference): string {
  return JSON.stringify([layer, call, output]);
}

/** Batch, height, width, channels of the layer as N x C x H x W; what is open gets a name. */
function inputShape(layer: TfjsLayer): readonly Dimension[] {
  const { batch_input_shape: shape } = layer.config;
  if (layer.className !== 'InputLayer' || !Array.isArray(shape) || shape.length !== 4) {
    throw unsupported(layer, 'a batch_input_shape of batch, height, width, channels is expected of an input');
  }
  const [batch, height, width, channels] = shape.map((dim: unknown) =>
    typeof dim === 'number' ? dim : null,
  );
  return [batch ?? 'N', channels ?? null, height ?? 'H', width ?? 'W'];
}
