/** A plan in memory: the parsed file, its graph, and its division as the runtime reads it. */
import type { Selections } from '../graph/boxes.ts';
import type { Model } from '../graph/graph.ts';
import { loadModel } from '../graph/load.ts';
import type { Ranges } from '../graph/ranges.ts';
import { StarlingError } from '../protocol/errors.ts';
import { type PlanFile, parsePlan } from '../protocol/plan.ts';
import { sha256Hex } from '../protocol/sha256.ts';
import type { Division, Sharding } from './lower/program.ts';

export interface Plan {
  readonly file: PlanFile;
  readonly sha256: string;
  readonly model: Model;
  readonly division: Division;
}

/** Reads one of a plan's files by its name. */
export type ReadPlanFile = (path: string, bytes?: number) => Promise<Uint8Array>;

/** Whether shards read only some of each other's features. */
export function thins({ supports }: Division): boolean {
  return (supports?.size ?? 0) > 0;
}

/** Whether features travel in a narrower type than they are computed in. */
export function narrows({ wires }: Division): boolean {
  return (wires?.size ?? 0) > 0;
}

function unflattenRanges(flat: readonly number[]): Ranges {
  return Array.from(
    { length: flat.length >> 1 },
    (_, i) => [flat[2 * i] ?? 0, flat[2 * i + 1] ?? 0] as const,
  );
}

export function flattenRanges(ranges: Ranges): number[] {
  return ranges.flat();
}

export function boxOf(box: Readonly<Record<string, readonly number[]>>): Selections {
  return Object.fromEntries(Object.entries(box).map(([axis, flat]) => [Number(axis), unflattenRanges(flat)]));
}

/** Throws HASH_MISMATCH naming the file. */
export function checkHash(path: string, bytes: Uint8Array, expected: string): void {
  const found = sha256Hex(bytes);
  if (found === expected) return;
  throw new StarlingError(
    'HASH_MISMATCH',
    `File "${path}" of the plan has SHA-256 ${found.slice(0, 12)}..., expected ${expected.slice(0, 12)}...; it was changed or damaged: compile or copy the plan again.`,
  );
}

/** Loads plan.json and its graph; `pinned` is the hash the host announced, where there is one. */
export async function openPlan(read: ReadPlanFile, pinned: string | null = null): Promise<Plan> {
  const bytes = await read('plan.json');
  if (pinned !== null) checkHash('plan.json', bytes, pinned);
  const file = parsePlan(new TextDecoder().decode(bytes));
  const graphBytes = await read(file.graph.path, file.graph.bytes);
  checkHash(file.graph.path, graphBytes, file.graph.sha256);
  const model = withWeights(loadModel(graphBytes), file);
  return { file, sha256: sha256Hex(bytes), model, division: divisionOf(file) };
}

/** The graph file lists the weights as inputs, which keeps it a valid model; here they become initializers without data. */
function withWeights(model: Model, file: PlanFile): Model {
  const initializers = new Map(model.graph.initializers);
  for (const input of model.graph.inputs) {
    const tensor = Object.hasOwn(file.tensors, input.name) ? file.tensors[input.name] : undefined;
    if (tensor === undefined) continue;
    initializers.set(input.name, { dataType: input.dataType, dims: tensor.dims, data: new Uint8Array(0) });
  }
  const inputs = model.graph.inputs.filter(({ name }) => !initializers.has(name));
  return { ...model, graph: { ...model.graph, inputs, initializers } };
}

function divisionOf(file: PlanFile): Division {
  const partitions = file.partitions.map((parts) => parts.map(unflattenRanges));
  const partsOf = (name: string, index: number): readonly Ranges[] => {
    const parts = partitions[index];
    if (parts?.length === file.numShards) return parts;
    throw new StarlingError(
      'PLAN_UNREADABLE',
      `The plan divides "${name}" by a partition it does not hold; compile the model again.`,
    );
  };
  const shardings = (given: PlanFile['shardings']) =>
    new Map(
      Object.entries(given).map(([name, { axis, partition }]): [string, Sharding] => [
        name,
        { axis, parts: partsOf(name, partition) },
      ]),
    );
  const byNode = (indices: Readonly<Record<string, number>>) =>
    new Map(Object.entries(indices).map(([node, index]) => [node, partsOf(node, index)] as const));
  const wires = new Map(Object.entries(file.wires));
  return {
    numShards: file.numShards,
    shardings: shardings(file.shardings),
    supports: byNode(file.supports),
    wires,
    partials: byNode(file.partials),
    statistics: shardings(file.statistics),
    sendFirst: file.sendFirst,
  };
}
