/** The limits that a signaling server goes by, and the one place where a test may choose smaller ones. */
import { limits } from '../protocol/limits.ts';

export interface ServerLimits {
  readonly messageBytes: number;
  readonly messagesPerSecond: number;
  readonly messageBurst: number;
  readonly refusalsPerSecond: number;
  readonly refusalBurst: number;
  readonly bufferedBytes: number;
  readonly connections: number;
  readonly connectionsPerAddress: number;
  readonly rooms: number;
  readonly roomMembers: number;
  readonly presenceMs: number;
  readonly pingMs: number;
}

export const serverLimits: ServerLimits = {
  messageBytes: limits.signalingMessageBytes,
  messagesPerSecond: limits.signalingMessagesPerSecond,
  messageBurst: limits.signalingMessageBurst,
  refusalsPerSecond: limits.signalingRefusalsPerSecond,
  refusalBurst: limits.signalingRefusalBurst,
  bufferedBytes: limits.signalingBufferedBytes,
  connections: limits.signalingConnections,
  connectionsPerAddress: limits.signalingConnectionsPerAddress,
  rooms: limits.rooms,
  roomMembers: limits.roomMembers,
  presenceMs: limits.presenceMs,
  pingMs: limits.pingMs,
};
