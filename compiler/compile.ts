/**
 * From an ONNX model to a plan, in one visible list of steps: load, normalise, divide, lower, emit. Needs no Node:
 * a page compiles a dropped model with the same function. Measuring a plan is measure/'s.
 */

import type { Graph, Model } from '../graph/graph.ts';
import { loadModel } from '../graph/load.ts';
import type {
  CompileStep,
  DivisionAxis,
  PixelOptions,
  ScaleChoice,
  WireChoice,
} from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { Backend } from '../runtime/backend.ts';
import { lower } from '../runtime/lower/lower.ts';
import { oneShardEach } from '../runtime/lower/placements.ts';
import type { Division } from '../runtime/lower/program.ts';
import { localLink, referenceDevice } from '../runtime/predict/costModel.ts';
import { checkMemoryLimits } from '../runtime/predict/memoryLimit.ts';
import type { Calibration } from './calibrate/calibration.ts';
import { pixelCalibration } from './calibrate/pixelCalibration.ts';
import { smallBatches } from './calibrate/smallBatches.ts';
import { cheapChannels } from './divide/cheapChannels.ts';
import { type ChosenDivision, chooseDivision, type PlanningCost } from './divide/chooseDivision.ts';
import { divideByChannels } from './divide/divideChannels.ts';
import type { DividedGraph } from './divide/dividedGraph.ts';
import { divideByLayers } from './divide/divideLayers.ts';
import { divideByRows } from './divide/divideRows.ts';
import { sparseReport, thinning } from './measure/sparseReport.ts';
import { normaliseModel } from './normalise/normaliseModel.ts';
import { pixelEnds } from './pixels.ts';
import { checkClasses } from './plan/checkClasses.ts';
import { emitPlan, type PlanFiles } from './plan/emitPlan.ts';
import { modelSource } from './plan/modelSource.ts';
import { planCosts } from './plan/planCosts.ts';
import { receptiveRadius } from './plan/receptiveRadius.ts';
import { planLatency } from './planLatency.ts';
import type { SparsifyStep } from './sparsifySettings.ts';
import { type SparseOptions, type ThinnedModel, thinnedModel } from './thinnedModel.ts';
import { narrowWires } from './wire/narrowWires.ts';

export type { CompileStep, DivisionAxis, ScaleChoice, WireChoice } from '../protocol/compileChoices.ts';
export type { SparseOptions } from './thinnedModel.ts';

export interface CompileOptions {
  readonly name: string;
  readonly numShards: number;
  readonly axis: DivisionAxis;
  /** What `auto` plans for; two tabs of one machine by default. */
  readonly cost?: Pick<PlanningCost, 'devices' | 'link' | 'memoryBytes'>;
  /** Turns pictures into 8-bit inputs and outputs. */
  readonly pixels?: PixelOptions;
  /** Shapes of inputs that the model leaves open. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /** Reads data files that the model names beside itself. */
  readonly external?: (path: string) => Uint8Array;
  /** Thins the exchange of a division by channels after training, without labels. */
  readonly sparse?: SparseOptions;
  /** Looks for the fastest plan on the link of `cost` that still answers like the model; axis, budget and wire type are its own. */
  readonly latency?: LatencyChoice;
  /** As training made it, for this model: nothing is divided or thinned here. */
  readonly division?: Division;
  /** What shards send each other as; float32 without it. */
  readonly wire?: WireOptions;
  /** Names of what the model's scores stand for, in their order. */
  readonly classes?: readonly string[];
  /** Predicts what other divisions would take, beside the one that is asked for; `auto` has compared them anyway. */
  readonly compare?: boolean;
  /** Runs the model once where its shapes, constants or batch axis do not follow from the graph alone. */
  readonly backend: Backend;
  readonly onStep?: (step: CompileStep) => void;
}

export interface WireOptions {
  readonly type: WireChoice;
  /** Default feature. */
  readonly scalePer?: ScaleChoice;
  /** uint8 takes its scales from it. */
  readonly calibration?: Calibration;
}

export interface LatencyChoice {
  readonly calibration: Calibration;
  /** Share of answers that may change; see planLatency.ts. */
  readonly allowedLoss: number;
  readonly onProgress?: (step: SparsifyStep, done: number, total: number) => void;
}

interface DivideOptions {
  readonly numShards: number;
  readonly openBatch: boolean;
  readonly cost: PlanningCost;
  /** Whether partial sums may travel instead of features: in a narrower type their errors would add up. */
  readonly sums: boolean;
}

type Divided = DividedGraph & Partial<Pick<ChosenDivision, 'predictedMs' | 'reason'>>;

const dividers: { readonly [Axis in DivisionAxis]: (graph: Graph, options: DivideOptions) => Divided } = {
  channels: (graph, { numShards, openBatch, cost, sums }) =>
    sums
      ? cheapChannels(graph, numShards, cost, openBatch)
      : { graph, division: divideByChannels(graph, numShards, openBatch) },
  rows: (graph, { numShards, openBatch }) => divideByRows(graph, numShards, openBatch),
  layers: (graph, { numShards, openBatch }) => ({
    graph,
    division: divideByLayers(graph, numShards, openBatch),
  }),
  auto: (graph, { numShards, openBatch, cost, sums }) =>
    chooseDivision(graph, numShards, cost, openBatch, sums),
};

/** Largest batch of a plan whose batch axis is open. */
const openMaxBatch = 128;

type DividedModel = Omit<Divided, 'graph'> & {
  readonly model: Model;
  /** Where the exchange was thinned: what the report needs. */
  readonly thinned?: ThinnedModel['thinned'];
};

function withGraph(model: Model, { graph, ...divided }: Divided): DividedModel {
  return { ...divided, model: { ...model, graph } };
}

/** Throws INPUT_INVALID where it names what the model does not have. */
function givenDivision(model: Model, division: Division): DividedModel {
  const nodes = new Set(model.graph.nodes.map(({ name }) => name));
  const values = new Set(model.graph.nodes.flatMap(({ outputs }) => outputs));
  const unknown =
    [...division.shardings.keys()].find((value) => !values.has(value)) ??
    [...(division.supports?.keys() ?? [])].find((node) => !nodes.has(node));
  if (unknown === undefined) return { model, division };
  throw new StarlingError(
    'INPUT_INVALID',
    `The division belongs to another model: it names "${unknown}", which this one does not have.`,
  );
}

/** The graph and its division with what travels in its wire type. Throws BUDGET_INVALID and CALIBRATION_INVALID. */
async function dividedModel(
  model: Model,
  options: CompileOptions & DivideOptions,
): Promise<DividedModel & { readonly wireType: WireChoice }> {
  const { axis, backend, openBatch, division, sparse, latency, wire = { type: 'float32' } } = options;
  if (latency !== undefined) {
    const planned = await planLatency(model, { ...options, ...latency });
    return { ...planned, wireType: planned.wire };
  }
  const divided: DividedModel =
    division !== undefined
      ? givenDivision(model, division)
      : sparse === undefined
        ? withGraph(model, dividers[axis](model.graph, options))
        : await thinnedModel(model, sparse, { ...options, wire: wire.type });
  const { type, ...scales } = wire;
  const wireOptions = { wire: type, ...scales, backend, openBatch };
  return { ...divided, ...(await narrowWires(divided.model, divided.division, wireOptions)), wireType: type };
}

/** Throws StarlingError: MODEL_UNREADABLE, DATA_FILE_MISSING, MODEL_UNSUPPORTED, SHAPE_OPEN, INPUT_INVALID, GRAPH_INVALID, SESSION_FAILED. */
export async function compileModel(bytes: Uint8Array, options: CompileOptions): Promise<PlanFiles> {
  const { backend, numShards, axis, shapes = {}, external, pixels, wire, onStep = () => {} } = options;
  onStep('load');
  const source = modelSource(bytes, external);
  const original = loadModel(bytes, source.external);
  onStep('normalise');
  const normalised = await normaliseModel(original, { backend, shapes });
  const { batchOpen } = normalised;
  const pictured = pixels === undefined ? normalised.model : pixelEnds(normalised.model, pixels);
  const { classes } = options;
  if (classes !== undefined) checkClasses(pictured.graph, classes);
  const calibrated = <T extends { readonly calibration?: Calibration }>(given: T): T => {
    if (given.calibration === undefined) return given;
    const batches = batchOpen ? given.calibration : smallBatches(given.calibration, 1);
    if (pixels?.input === undefined) return { ...given, calibration: batches };
    return { ...given, calibration: pixelCalibration(batches, pictured, pixels.input) };
  };
  onStep('divide');
  const divideOptions = {
    numShards,
    openBatch: batchOpen,
    sums: (wire?.type ?? 'float32') === 'float32',
    cost: { devices: [referenceDevice], link: localLink, host: 0, ...options.cost },
  };
  const divided = await dividedModel(pictured, {
    ...options,
    ...divideOptions,
    ...(options.sparse === undefined ? {} : { sparse: calibrated(options.sparse) }),
    ...(options.latency === undefined ? {} : { latency: calibrated(options.latency) }),
    ...(wire === undefined ? {} : { wire: calibrated(wire) }),
  });
  const { model, division, heldWhole, predictedMs, reason, wireType } = divided;
  const { graph } = model;
  onStep('lower');
  const onePerDevice = lower(graph, division, oneShardEach(numShards));
  checkMemoryLimits(onePerDevice, divideOptions.cost.memoryBytes);
  const given = options.division?.supports === undefined ? undefined : { sparse: thinning(graph, division) };
  const measured = divided.thinned && {
    sparse: await sparseReport({
      ...divided.thinned,
      original: pictured,
      model,
      division,
      openBatch: batchOpen,
      backend,
    }),
  };
  const { cost, sums } = divideOptions;
  const compared =
    predictedMs ??
    (options.compare === true
      ? chooseDivision(pictured.graph, numShards, cost, batchOpen, sums).predictedMs
      : undefined);
  onStep('emit');
  const radius = receptiveRadius(pictured.graph);
  return emitPlan({
    name: options.name,
    source: { ...source.describe(), opset: original.opsets.get('') ?? 0 },
    model,
    division,
    ...(heldWhole === undefined ? {} : { heldWhole }),
    onePerDevice,
    maxBatch: batchOpen ? openMaxBatch : 1,
    ...(measured ?? given),
    ...(classes === undefined ? {} : { classes }),
    predictedMs: planCosts(pictured.graph, onePerDevice, axis, divideOptions.cost, compared),
    metadata: {
      axis: options.latency === undefined ? axis : 'auto',
      wire: wireType,
      ...(reason === undefined ? {} : { division: reason }),
      ...(radius === undefined ? {} : { receptiveRadius: String(radius) }),
    },
  });
}
