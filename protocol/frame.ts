/**
 * Frames of the tensor channel: what two devices say to each other. One tensor frame carries one transfer (one value from
 * one device to another); a large one travels in parts. How they look in bytes is frameLayout.ts.
 */
import type { WireType } from './wireType.ts';

/** The order is the wire's; new kinds go to the end. */
export const frameKinds = [
  'hello',
  'helloAck',
  'ping',
  'pong',
  'abort',
  'tensor',
  'input',
  'output',
  'record',
  'recorded',
  'fileAsk',
  'file',
] as const;
export type FrameKind = (typeof frameKinds)[number];

/** Those that carry a payload. */
export const tensorKinds = ['tensor', 'input', 'output', 'recorded', 'fileAsk', 'file'] as const;
export type TensorKind = (typeof tensorKinds)[number];

/** Why a run ends early; the order is the wire's. */
export const abortReasons = [
  'RUN_ABORTED',
  'RUN_FAILED',
  'RUN_TIMEOUT',
  'SESSION_FAILED',
  'PEER_LOST',
] as const;
export type AbortReason = (typeof abortReasons)[number];

export interface TensorHeader {
  /**
   * A value between devices, an input from the host, an output to the host, what a device noted of a run, also to
   * the host (see timelineRecorder.ts), a question for a piece of a plan's file, or that piece (see fileTransfer.ts).
   */
  readonly kind: TensorKind;
  readonly epoch: number;
  readonly run: number;
  /** Both ends number transfers alike when they lower; for an input or output, its index in the graph; else 0. */
  readonly transfer: number;
  readonly dataType: WireType;
  readonly dims: readonly number[];
}

export interface TensorFrame extends TensorHeader {
  /** Little-endian, row-major, exactly as many bytes as type and dims say. */
  readonly data: Uint8Array;
}

export interface TensorPart extends TensorHeader {
  readonly part: number;
  readonly parts: number;
  /** Bytes of the whole tensor, and where this part's lie in it. */
  readonly totalBytes: number;
  readonly offset: number;
  /** A view of the message, aligned to 8 bytes where the message is. */
  readonly payload: Uint8Array;
}

export interface AbortFrame {
  readonly kind: 'abort';
  readonly epoch: number;
  readonly run: number;
  readonly reason: AbortReason;
}

/** Asks a device to note what it does for a run. */
export interface RecordFrame {
  readonly kind: 'record';
  readonly epoch: number;
  readonly run: number;
}

/** What a link carries for those who use it; the other frames are its own. */
export type RunFrame = TensorFrame | AbortFrame | RecordFrame;

export type ControlFrame =
  | { readonly kind: 'hello' | 'helloAck' }
  | { readonly kind: 'ping' | 'pong'; readonly sequence: number }
  | AbortFrame
  | RecordFrame;

export type Frame = ControlFrame | TensorFrame;
