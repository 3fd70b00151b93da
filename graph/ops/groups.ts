/** Channel groups of convolutions: which runs of output channels one node can make, and from which input channels. */
import { intersect, normalise, type Ranges, range, size, union } from '../ranges.ts';

export interface Groups {
  readonly count: number;
  /** Input and output channels of one group. */
  readonly inputs: number;
  readonly outputs: number;
}

/** Output channels that one node can make: some whole groups, or a part of one. */
export interface Segment {
  readonly groups: readonly number[];
  readonly outputs: Ranges;
}

export function segmentsOf(groups: Groups, ranges: Ranges): Segment[] {
  const result: Segment[] = [];
  let run: Segment | undefined;
  for (let group = 0; group < groups.count; group++) {
    const outputs = intersect(ranges, range(group * groups.outputs, (group + 1) * groups.outputs));
    if (outputs.length === 0) continue;
    if (size(outputs) < groups.outputs) {
      run = undefined;
      result.push({ groups: [group], outputs });
    } else if (run === undefined) {
      run = { groups: [group], outputs };
      result.push(run);
    } else {
      run = { groups: [...run.groups, group], outputs: union(run.outputs, outputs) };
      result[result.length - 1] = run;
    }
  }
  return result;
}

export function inputChannels(groups: Groups, segment: Segment): Ranges {
  return normalise(
    segment.groups.map((group) => [group * groups.inputs, (group + 1) * groups.inputs] as const),
  );
}
