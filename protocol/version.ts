/** The version that both ends of any connection must share: pages, and pages with the signaling server. */
export const protocolVersion = 1;
