/** The estimator's error, and all replays of the measured networks, each with an estimator that never saw it. */
import { mean } from '../figures.ts';
import { fitCorrection, isOther, isOtherNetwork, leaveOneOutError, networkError } from './fitCorrection.ts';
import type { InstanceLatencies } from './instanceLatencies.ts';
import { type Replayed, replay } from './replay.ts';

export interface EstimatorReport {
  /** Mean relative error, each network left out of what was learned. */
  readonly leaveOneOut: number;
  /** Also without the same network on another data set. */
  readonly leaveNetworkOut: number;
  /** max(L1, k/8 L8), which learns nothing. */
  readonly bounded: number;
  /** On the networks it was learned from: what the shipped table would flatter itself with. */
  readonly training: number;
}

export function estimatorReport(networks: readonly InstanceLatencies[]): EstimatorReport {
  return {
    leaveOneOut: leaveOneOutError(networks, fitCorrection, isOther),
    leaveNetworkOut: leaveOneOutError(networks, fitCorrection, isOtherNetwork),
    bounded: mean(networks.map((network) => networkError(network))),
    training: mean(networks.map((network) => networkError(network, fitCorrection(networks)))),
  };
}

export const sloShares = [0.5, 0.75, 0.9] as const;

/** `windows` of the scaler for each network and objective. */
export async function replayReport(
  networks: readonly InstanceLatencies[],
  windows = 300,
): Promise<Replayed[]> {
  const replays: Replayed[] = [];
  for (const sloShare of sloShares) {
    for (const network of networks) {
      const correction = fitCorrection(networks.filter((other) => isOther(other, network)));
      replays.push(await replay(network, sloShare, correction, replays.length + 1, windows));
    }
  }
  return replays;
}
