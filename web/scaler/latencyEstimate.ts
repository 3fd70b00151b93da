/**
 * Latency of a run beside m instances, from two probes: with one instance, and with several. Pure; the learned
 * part is one table of corrections, indexed by how much the probes differ.
 */
import { latencyCorrection } from './latencyCorrection.ts';

export interface InstanceProbes {
  /** Latency with one instance, in milliseconds. */
  readonly oneMs: number;
  /** Instances of the second probe, and the latency with them. */
  readonly many: number;
  readonly manyMs: number;
}

export interface LatencyCorrection {
  /** Ratio L(8) / L(1) of the first row; each octave of ratios has so many rows. */
  readonly firstRatio: number;
  readonly rowsPerOctave: number;
  /** For each ratio, rising: what `boundedLatency` of m = 1..10 is to be multiplied by. */
  readonly factors: readonly (readonly number[])[];
}

/** Instances of the second probe for which the corrections were learned. */
export const probeInstances = 8;

/**
 * Neither below the latency of one instance alone, nor below a fair share of the device once it is full: the sharp
 * corner that a real device rounds off.
 */
export function boundedLatency({ oneMs, many, manyMs }: InstanceProbes, instances: number): number {
  return Math.max(oneMs, (instances / many) * manyMs);
}

/** Expected latency in milliseconds with 1 or more instances; exact at the two probes. */
export function estimateLatency(
  probes: InstanceProbes,
  instances: number,
  correction: LatencyCorrection = latencyCorrection,
): number {
  if (instances === 1) return probes.oneMs;
  if (instances === probes.many) return probes.manyMs;
  const bounded = boundedLatency(probes, instances);
  if (probes.many !== probeInstances) return bounded;
  return bounded * factorAt(correction, probes.manyMs / probes.oneMs, instances);
}

/** Linear between the table's rows (in logarithms), constant beyond them. */
function factorAt(
  { firstRatio, rowsPerOctave, factors }: LatencyCorrection,
  ratio: number,
  instances: number,
) {
  const position = rowsPerOctave * Math.log2(ratio / firstRatio);
  const clamped = Math.min(Math.max(position, 0), factors.length - 1);
  const row = Math.min(Math.floor(clamped), factors.length - 2);
  const column = Math.min(instances, factors[0]?.length ?? 1) - 1;
  const [a, b] = [factors[row]?.[column] ?? 1, factors[row + 1]?.[column] ?? 1];
  return Math.exp(Math.log(a) + (clamped - row) * (Math.log(b) - Math.log(a)));
}
