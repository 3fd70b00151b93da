/** Why two peers did not connect, in words, from what their connection saw; it decides nothing. */

export interface ConnectionReport {
  readonly initiator: boolean;
  /** A description of the other device has come. */
  readonly heard: boolean;
  /** Network addresses that were found here and that the other device named. */
  readonly localCandidates: number;
  readonly remoteCandidates: number;
  readonly relayOnly: boolean;
  readonly iceState: RTCIceConnectionState;
  /** The control channel was open: what lacked was the other page's hello. */
  readonly open: boolean;
}

export function unreachableReason(report: ConnectionReport): string {
  if (report.open) return 'the connection stood, but its page said no hello';
  if (!report.heard) {
    return report.initiator ? 'it did not answer the offer' : 'no offer came from it';
  }
  if (report.localCandidates === 0) {
    return report.relayOnly
      ? 'no TURN server gave this device an address; check the TURN address and its password'
      : 'this device found no network address of its own; check that it is in a network';
  }
  if (report.remoteCandidates === 0) return 'it named no network address';
  const tried = `between ${report.localCandidates} addresses here and ${report.remoteCandidates} there`;
  return report.iceState === 'connected' || report.iceState === 'completed'
    ? 'the network path stood, but the encrypted channel did not open'
    : `no path was found ${tried} (${report.iceState}); put both in one network or add a TURN server`;
}
