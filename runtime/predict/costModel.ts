/** What a device and a link cost, in numbers that are measured; the same for planning and for placing. */

export interface DeviceCost {
  /** Dense multiply-accumulates per millisecond on one instance. */
  readonly macsPerMs: number;
  /** Elements per millisecond of everything that is no product: activations, additions, copies. */
  readonly elementsPerMs: number;
  readonly nodeMs: number;
  /** Starting a session's run, reading and handing over what is sent. */
  readonly stageMs: number;
  /**
   * Bytes of messages, sent and received, per millisecond that the device encrypts or decrypts and copies: while it waits for
   * something, or else its own core computes nothing meanwhile. Measured where a tab has one core.
   */
  readonly handledBytesPerMs: number;
}

export interface LinkCost {
  readonly roundTripMs: number;
  readonly bytesPerMs: number;
  /** Of each message on its way, beside the round trip: frames, copies, event loops. */
  readonly messageMs: number;
}

/**
 * onnxruntime-web on one WASM thread of the machine this was developed on; speeds are relative to it. Fitted to the
 * bench's six networks, of which each is predicted within a tenth.
 */
export const referenceDevice: DeviceCost = {
  macsPerMs: 17e6,
  elementsPerMs: 1.8e6,
  nodeMs: 0.01,
  stageMs: 0.25,
  // Both ends of an exchange send and receive: twice the 28,000 that each gets, on a core of its own that does nothing else.
  handledBytesPerMs: 56_000,
};

/** Two tabs of one machine over a data channel: not the network but encryption and copies are what it costs. */
export const localLink: LinkCost = { roundTripMs: 0.2, bytesPerMs: 18_000, messageMs: 0.25 };

/**
 * A network between devices that handle messages as those of `devices` do: none is faster than they encrypt and copy, and
 * what a message costs them is added.
 */
export function linkOver(
  { bytesPerMs, roundTripMs }: Pick<LinkCost, 'bytesPerMs' | 'roundTripMs'>,
  devices: LinkCost = localLink,
): LinkCost {
  return {
    roundTripMs,
    bytesPerMs: Math.min(devices.bytesPerMs, bytesPerMs),
    messageMs: devices.messageMs,
  };
}

/** `speed` is that of computing; what messages cost is not known from it, here as in links. */
export function scaleDevice(cost: DeviceCost, speed: number): DeviceCost {
  return {
    macsPerMs: cost.macsPerMs * speed,
    elementsPerMs: cost.elementsPerMs * speed,
    nodeMs: cost.nodeMs / speed,
    stageMs: cost.stageMs / speed,
    handledBytesPerMs: cost.handledBytesPerMs,
  };
}
