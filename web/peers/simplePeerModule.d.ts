/** The part of simple-peer 9.11 that we use, of its browser build, which brings the Node polyfills it needs. */
declare module 'simple-peer/simplepeer.min.js' {
  interface SimplePeerEvents {
    signal: (data: { type: string; sdp?: string; candidate?: RTCIceCandidateInit }) => void;
    connect: () => void;
    iceStateChange: (connection: RTCIceConnectionState, gathering: RTCIceGatheringState) => void;
    /** With `objectMode`: text as it was sent; binary data as a Uint8Array. */
    data: (data: string | Uint8Array) => void;
    error: (error: Error & { code?: string }) => void;
    close: () => void;
  }

  export default class SimplePeer {
    constructor(options: {
      initiator: boolean;
      objectMode: true;
      config: RTCConfiguration;
    });
    /** Not documented: the connection itself; undefined where it could not be made. */
    readonly _pc: RTCPeerConnection | undefined;
    /** Not documented: the channel that `send` uses. */
    readonly _channel: RTCDataChannel | null;
    readonly destroyed: boolean;
    on<E extends keyof SimplePeerEvents>(event: E, listener: SimplePeerEvents[E]): this;
    signal(data: { type?: string; sdp?: string; candidate?: RTCIceCandidateInit }): void;
    send(data: string): void;
    destroy(): void;
  }
}
