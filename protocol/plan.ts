/**
 * The plan file: what `starling compile` writes and every device reads. This is the boundary's schema; the graph
 * itself lies beside it as an ONNX file whose large initializers are kept in the weight files.
 */
import * as v from 'valibot';
import { StarlingError } from './errors.ts';
import { limits } from './limits.ts';
import { wireTypeNames } from './wireType.ts';

export const planFormat = 'starling-plan';
/** Rises when an older reader could misread a newer plan. */
export const planVersion = 2;

/** Names that a schema's record leaves out, because in JavaScript they are no ordinary keys. A plan never lists them. */
export const unlistedNames: ReadonlySet<string> = new Set(['__proto__', 'prototype', 'constructor']);

const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const name = v.string();
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/));
/** Names of files beside plan.json; no path leads out of its folder. */
const path = v.pipe(v.string(), v.regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/));
/** Sorted ranges as pairs: [start, end, start, end, ...]. */
const flatRanges = v.array(count);

const file = v.object({ path, bytes: count, sha256 });

const value = v.object({ name, dataType: v.picklist(wireTypeNames), shape: v.array(count) });

/** One contiguous piece of a weight file that holds a box of a tensor. */
const tensorPart = v.object({
  /** Index in `weights`. */
  file: count,
  offset: count,
  bytes: count,
  /** Axis -> sorted ranges; axes that are not listed are whole. */
  box: v.record(v.string(), flatRanges),
});

const weightTensor = v.object({
  dataType: v.picklist(wireTypeNames),
  dims: v.array(count),
  parts: v.array(tensorPart),
});

/** What travels: features, rows with halos, indices along another axis (tokens, heads), or partial results of a value. */
const exchangeKinds = ['channels', 'rows', 'others', 'partial sums', 'statistics'] as const;
export type ExchangeKind = (typeof exchangeKinds)[number];

const exchange = v.object({
  value: name,
  kind: v.picklist(exchangeKinds),
  /** Indices that are sent, summed over senders and receivers. */
  features: count,
  bytes: count,
  /** The first round in which some device waits for it. */
  round: count,
});

const report = v.object({
  macs: count,
  weightBytes: count,
  macsPerShard: v.array(count),
  weightBytesPerShard: v.array(count),
  /** Predicted wasm heap of a device with all shards, and with each of them alone; 0 and none in older plans. */
  heapBytes: v.optional(count, 0),
  heapBytesPerShard: v.optional(v.array(count), []),
  /** With one shard on each device. */
  rounds: count,
  exchangedBytes: count,
  /** Beside them, with the host on the first device: inputs to the others, and outputs from them. 0 in older plans. */
  inputBytes: v.optional(count, 0),
  outputBytes: v.optional(count, 0),
  /** Value by value, in the order of rounds; none in plans of before there was a list. */
  exchanges: v.optional(v.array(exchange), []),
  /** Nodes that more than one shard computes whole or that only one computes, with their cost. */
  replicated: v.array(v.object({ node: name, opType: name, macs: count, reason: v.string() })),
});

/** Of a thinned exchange. */
const sparseReport = v.object({
  sentFeatures: count,
  denseFeatures: count,
  /** Share of the bytes of a dense exchange of features in the same wire type; absent where nothing was asked for in it. */
  keptBytes: v.optional(v.number()),
  /** The same shards with nothing thinned. */
  dense: v.pick(report, ['macsPerShard', 'weightBytesPerShard', 'rounds', 'exchangedBytes']),
  /** On inputs that nothing was fitted to; absent where there were too few to hold any out. */
  heldOut: v.optional(
    v.object({
      samples: count,
      /** Share of samples that are decided as the model decides; 1 where the outputs are no scores. */
      agreement: v.number(),
      largestError: v.number(),
      relativeRms: v.number(),
      accuracy: v.optional(v.number()),
      originalAccuracy: v.optional(v.number()),
    }),
  ),
});

/** What labelled data say of the plan: its own shards, and the model that it was made from where that was measured too. */
const measured = v.object({
  /** The data set, for people. */
  data: v.string(),
  samples: count,
  /** By name, as papers state them: `top1` from 0 to 1. */
  figures: v.record(v.string(), v.number()),
  original: v.optional(v.record(v.string(), v.number())),
});

const planSchema = v.object({
  format: v.literal(planFormat),
  version: v.literal(planVersion),
  name: v.string(),
  numShards: v.pipe(count, v.minValue(1), v.maxValue(limits.shards)),
  /** The model it was made from. */
  source: v.object({ sha256, bytes: count, opset: count }),
  graph: file,
  /** Weight files: one for each shard, and one with what every shard needs (`shard: null`). */
  weights: v.array(v.object({ ...file.entries, shard: v.nullable(count) })),
  tensors: v.record(name, weightTensor),
  inputs: v.array(value),
  outputs: v.array(value),
  /** Largest batch; 1 where the batch axis cannot be opened. */
  maxBatch: v.pipe(count, v.minValue(1)),
  /** Different sets of ranges for each shard, referred to by index. */
  partitions: v.array(v.array(flatRanges)),
  /** Value -> axis and index in `partitions`; values that are not listed are computed where they are needed. */
  shardings: v.record(name, v.object({ axis: count, partition: count })),
  /** Contraction (node name) -> index in `partitions` of the input features that each shard reads; none when dense. */
  supports: v.record(name, count),
  /** Value as other shards see it, after it has travelled in a narrower type -> the value itself. */
  wires: v.record(name, name),
  /** Contraction (node name) -> index in `partitions` of the input features that each shard sums; partial sums travel. */
  partials: v.optional(v.record(name, count), {}),
  /** Operator (node name) -> how its first input is divided along the axis over which it takes its results. */
  statistics: v.optional(v.record(name, v.object({ axis: count, partition: count })), {}),
  /** Devices make what they send before the rest. */
  sendFirst: v.boolean(),
  report,
  sparse: v.optional(sparseReport),
  measured: v.optional(measured),
  /** Names of what the scores of the first output stand for, in their order. */
  classes: v.optional(v.array(v.string())),
  /** Predicted milliseconds of a run for divisions that were compared; empty where nothing was. */
  predictedMs: v.record(v.string(), v.number()),
  metadata: v.record(v.string(), v.string()),
});

export type PlanFile = v.InferOutput<typeof planSchema>;
export type SparseReport = v.InferOutput<typeof sparseReport>;
export type PlanMeasurement = v.InferOutput<typeof measured>;
export type PlanReport = v.InferOutput<typeof report>;

/** Features that are sent over those of a dense exchange; 1 where nothing was thinned. */
export function keptFeatures(sparse: SparseReport | undefined): number {
  return sparse === undefined || sparse.denseFeatures === 0 ? 1 : sparse.sentFeatures / sparse.denseFeatures;
}

/** What is sent of a dense exchange, in bytes where that is known, else in features; 1 where nothing was thinned. */
export function keptRatio(sparse: SparseReport | undefined): number {
  return sparse?.keptBytes ?? keptFeatures(sparse);
}

/** Throws PLAN_UNREADABLE or PLAN_VERSION. */
export function parsePlan(text: string): PlanFile {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new StarlingError(
      'PLAN_UNREADABLE',
      'Expected a Starling plan (JSON), got something else; compile the model again.',
    );
  }
  const head = v.safeParse(v.object({ format: v.literal(planFormat), version: v.number() }), json);
  if (!head.success) {
    throw new StarlingError(
      'PLAN_UNREADABLE',
      'Expected a Starling plan, got JSON of another kind; give the plan.json that "starling compile" wrote.',
    );
  }
  if (head.output.version !== planVersion) {
    throw new StarlingError(
      'PLAN_VERSION',
      `Expected a plan of version ${planVersion}, got version ${head.output.version}; compile the model again with this version of Starling.`,
    );
  }
  const parsed = v.safeParse(planSchema, json);
  if (parsed.success) return parsed.output;
  const [issue] = parsed.issues;
  throw new StarlingError(
    'PLAN_UNREADABLE',
    `The plan is damaged at "${v.getDotPath(issue) ?? ''}": ${issue.message}; compile the model again.`,
  );
}
