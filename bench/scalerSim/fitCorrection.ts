/**
 * Learns the estimator's corrections from measured latencies, and says how well that works for a network that was
 * not among them. A Gaussian kernel over the logarithm of L(8) / L(1) averages what a real device deviates from the
 * sharp corner of `boundedLatency`; the kernel's width is chosen by leaving networks out of the training set itself.
 */
import {
  boundedLatency,
  estimateLatency,
  type LatencyCorrection,
  probeInstances,
} from '../../web/scaler/latencyEstimate.ts';
import { mean } from '../figures.ts';
import type { InstanceLatencies } from './instanceLatencies.ts';

const widths = [0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4];
const [firstRatio, rowsPerOctave, rows] = [0.5, 2, 9];
/** Neither of the two probes. */
const estimatedInstances = [2, 3, 4, 5, 6, 7, 9, 10] as const;

export function fitCorrection(networks: readonly InstanceLatencies[]): LatencyCorrection {
  return fitWithWidth(networks, chooseWidth(networks));
}

function chooseWidth(networks: readonly InstanceLatencies[]): number {
  const errors = widths.map((width) =>
    leaveOneOutError(networks, (others) => fitWithWidth(others, width), isOther),
  );
  return widths[errors.indexOf(Math.min(...errors))] ?? 0.2;
}

/** Which networks may be learned from when `left` is to be estimated. */
type MayLearn = (other: InstanceLatencies, left: InstanceLatencies) => boolean;
export const isOther: MayLearn = (other, left) => other.name !== left.name;
/** Also without the same network on another data set. */
export const isOtherNetwork: MayLearn = (other, left) => other.network !== left.network;

/** Mean relative error over all networks and all instance counts between and beyond the probes. */
export function leaveOneOutError(
  networks: readonly InstanceLatencies[],
  learn: (others: readonly InstanceLatencies[]) => LatencyCorrection,
  mayLearn: MayLearn,
): number {
  return mean(
    networks.map((left) => networkError(left, learn(networks.filter((other) => mayLearn(other, left))))),
  );
}

export function networkError(network: InstanceLatencies, correction?: LatencyCorrection): number {
  const probes = probesOf(network);
  return mean(
    estimatedInstances.map((instances) => {
      const actual = network.latencyMs[instances - 1] ?? Number.NaN;
      const estimate =
        correction === undefined
          ? boundedLatency(probes, instances)
          : estimateLatency(probes, instances, correction);
      return Math.abs(estimate - actual) / actual;
    }),
  );
}

function probesOf({ latencyMs }: InstanceLatencies) {
  const [oneMs = Number.NaN] = latencyMs;
  return { oneMs, many: probeInstances, manyMs: latencyMs[probeInstances - 1] ?? Number.NaN };
}

function fitWithWidth(networks: readonly InstanceLatencies[], width: number): LatencyCorrection {
  const samples = networks.map((network) => {
    const probes = probesOf(network);
    return {
      at: Math.log(probes.manyMs / probes.oneMs),
      deviations: network.latencyMs.map((ms, i) => Math.log(ms / boundedLatency(probes, i + 1))),
    };
  });
  const factors = Array.from({ length: rows }, (_, row) => {
    const ratio = firstRatio * 2 ** (row / rowsPerOctave);
    // The small constant keeps the mean of all where no network is near.
    const weights = samples.map(({ at }) => Math.exp(-0.5 * ((at - Math.log(ratio)) / width) ** 2) + 1e-9);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return (samples[0]?.deviations ?? []).map((_, i) => {
      const sum = samples.reduce((s, { deviations }, n) => s + (weights[n] ?? 0) * (deviations[i] ?? 0), 0);
      return Number(Math.exp(sum / total).toFixed(4));
    });
  });
  return { firstRatio, rowsPerOctave, factors };
}
