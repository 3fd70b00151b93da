/** What lowering gives: one device's stages, and everything that crosses its borders. Plain data. */
import type { Node } from '../../graph/graph.ts';
import type { Slab } from '../../graph/ops/rule.ts';
import type { Ranges } from '../../graph/ranges.ts';
import type { DataType, Tensor } from '../../graph/tensor.ts';

/** Device index -> shards it holds. */
export type Placement = readonly (readonly number[])[];

/** How the indices of a value along one axis are divided over the shards; each index has exactly one owner. */
export interface Sharding {
  readonly axis: number;
  readonly parts: readonly Ranges[];
}

export interface Division {
  readonly numShards: number;
  /** Values that are owned part by part. All others are computed wherever they are needed. */
  readonly shardings: ReadonlyMap<string, Sharding>;
  /**
   * Contractions (by node name) whose shards read only some input features: for each shard its own and the selected
   * ones of others. A dense division has none.
   */
  readonly supports?: ReadonlyMap<string, readonly Ranges[]>;
  /**
   * Value as others see it, which has travelled in a narrower type -> the value itself, which a shard reads instead
   * where it owns the index. Shards count and not devices, so that every placement computes the same.
   */
  readonly wires?: ReadonlyMap<string, string>;
  /**
   * Contractions (by node name) that are divided along what they sum over: for each shard the input features it sums,
   * every feature at one shard. Partial sums travel instead of features.
   */
  readonly partials?: ReadonlyMap<string, readonly Ranges[]>;
  /**
   * Operators (by node name) that take their results over the divided axis of their first input, and how that is divided:
   * partial results travel instead of features.
   */
  readonly statistics?: ReadonlyMap<string, Sharding>;
  /** Whether devices make what they send in a part of its own before the rest, so that it travels meanwhile. */
  readonly sendFirst?: boolean;
}

export interface LocalType {
  readonly dataType: DataType;
  /** Absent for values made inside an operator's part. */
  readonly dims?: readonly number[];
}

/** Features of one value that one device sends another, once per run. */
export interface Transfer extends Slab {
  /** Index in the list of all transfers of the room; the same on every device. */
  readonly id: number;
  readonly value: string;
  readonly from: number;
  readonly to: number;
  readonly sourceName: string;
  readonly targetName: string;
  readonly dataType: DataType;
  readonly dims: readonly number[];
}

/** A graph input, or a part of one, that the host gives a device. `slab` is null for the whole. */
export interface Feed {
  readonly id: number;
  readonly input: string;
  readonly device: number;
  readonly slab: Slab | null;
  readonly name: string;
  readonly dataType: DataType;
  readonly dims: readonly number[];
}

/** A graph output, or a part of one, that a device gives the host. */
export interface Result {
  readonly id: number;
  readonly output: string;
  readonly device: number;
  readonly slab: Slab | null;
  readonly name: string;
  readonly dataType: DataType;
  readonly dims: readonly number[];
}

/** An initializer of a device: some indices of a plan tensor along some axes, in order. */
export interface WeightPart {
  readonly source: string;
  readonly selections: Readonly<Record<number, Ranges>>;
  readonly dataType: Exclude<DataType, 'string'>;
  readonly dims: readonly number[];
}

/** What a device runs between two waits. */
export interface Stage {
  readonly level: number;
  /** Whether something it makes is sent; such stages go first. */
  readonly sends: boolean;
  readonly nodes: readonly Node[];
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
}

export interface Program {
  readonly device: number;
  readonly shards: readonly number[];
  readonly stages: readonly Stage[];
  readonly feeds: readonly Feed[];
  readonly results: readonly Result[];
  readonly sends: readonly Transfer[];
  readonly receives: readonly Transfer[];
  readonly weights: ReadonlyMap<string, WeightPart>;
  readonly constants: ReadonlyMap<string, Tensor>;
  readonly types: ReadonlyMap<string, LocalType>;
  /** Multiply-accumulates that the emitted nodes execute. */
  readonly macs: number;
  /** The same by node; nodes that multiply nothing are not listed. */
  readonly nodeMacs: ReadonlyMap<Node, number>;
}

export interface RoomProgram {
  readonly programs: readonly Program[];
  /** Times at which some device waits for another, on the longest path. */
  readonly rounds: number;
  /** Bytes of all transfers between devices, without inputs and outputs. */
  readonly exchangedBytes: number;
}
