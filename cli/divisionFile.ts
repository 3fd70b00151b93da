/** A division as a JSON file beside a model: who owns which indices of which value, and what each contraction reads. */
import * as v from 'valibot';
import { StarlingError } from '../protocol/errors.ts';
import { limits } from '../protocol/limits.ts';
import type { Division } from '../runtime/lower/program.ts';
import { readJson, writeBytes } from './files.ts';

const index = v.pipe(v.number(), v.integer(), v.minValue(0));
const parts = v.array(v.array(v.tuple([index, index])));
const divisionSchema = v.object({
  numShards: v.pipe(index, v.minValue(1), v.maxValue(limits.shards)),
  /** Pairs, so that a value may have any name. */
  shardings: v.array(v.tuple([v.string(), v.object({ axis: index, parts })])),
  supports: v.array(v.tuple([v.string(), parts])),
});

export async function writeDivision(path: string, division: Division): Promise<void> {
  const file: v.InferInput<typeof divisionSchema> = {
    numShards: division.numShards,
    shardings: [...division.shardings].map(([value, sharding]) => [
      value,
      { axis: sharding.axis, parts: copy(sharding.parts) },
    ]),
    supports: [...(division.supports ?? [])].map(([node, ranges]) => [node, copy(ranges)]),
  };
  await writeBytes(path, `${JSON.stringify(file)}\n`);
}

/** Throws FILE_UNREADABLE. */
export async function readDivision(path: string): Promise<Division> {
  const parsed = v.safeParse(divisionSchema, await readJson(path));
  if (!parsed.success) {
    throw new StarlingError(
      'FILE_UNREADABLE',
      `${path} is expected to be the division.json of a training, and is damaged at "${v.getDotPath(parsed.issues[0]) ?? ''}".`,
    );
  }
  const { numShards, shardings, supports } = parsed.output;
  return {
    numShards,
    shardings: new Map(shardings),
    ...(supports.length === 0 ? {} : { supports: new Map(supports) }),
  };
}

function copy(lists: readonly (readonly (readonly [number, number])[])[]): [number, number][][] {
  return lists.map((ranges) => ranges.map(([start, end]): [number, number] => [start, end]));
}
