/**
 * The one error class of the project and the closed list of its codes.
 * Every message is one sentence or two: what was expected, what came, what to do.
 */

export const errorCodes = [
  // models and graphs
  'MODEL_NOT_FOUND',
  'MODEL_UNREADABLE',
  'MODEL_UNSUPPORTED',
  'DATA_FILE_MISSING',
  'GRAPH_INVALID',
  'SHAPE_OPEN',
  // calibration and budgets of sparse plans
  'CALIBRATION_INVALID',
  'BUDGET_INVALID',
  // plans
  'PLAN_NOT_FOUND',
  'PLAN_UNREADABLE',
  'PLAN_VERSION',
  'HASH_MISMATCH',
  'PLACEMENT_INVALID',
  'MEMORY_LIMIT',
  // running
  'BACKEND_UNAVAILABLE',
  'SESSION_FAILED',
  'INPUT_INVALID',
  'IMAGE_UNREADABLE',
  'RUN_TIMEOUT',
  'RUN_ABORTED',
  'RUN_FAILED',
  'OVERLOADED',
  'NO_DEVICE',
  'WORKER_DIED',
  // rooms and peers
  'SIGNALING_UNREACHABLE',
  'MESSAGE_INVALID',
  'MESSAGE_TOO_LARGE',
  'RATE_LIMITED',
  'ROOM_FULL',
  'ROOM_NAME_INVALID',
  'ROOM_LIMIT',
  'PEER_UNREACHABLE',
  'PEER_LOST',
  'PEER_UNTRUSTED',
  'PROTOCOL_VERSION',
  'ADDRESS_UNAVAILABLE',
  // command line
  'USAGE',
  'FILE_UNREADABLE',
  'FILE_UNWRITABLE',
  'PACKAGE_UNREACHABLE',
  'INTERNAL',
] as const;

export type ErrorCode = (typeof errorCodes)[number];

export class StarlingError extends Error {
  override readonly name = 'StarlingError';
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** What survives a JSON message or a Worker boundary. */
  toJSON(): { code: ErrorCode; message: string } {
    return { code: this.code, message: this.message };
  }

  /** Wraps whatever was thrown; an error that already carries a code is returned as it is. */
  static from(thrown: unknown, code: ErrorCode, prefix = ''): StarlingError {
    if (thrown instanceof StarlingError) return thrown;
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    return new StarlingError(code, prefix === '' ? reason : `${prefix}: ${reason}`, { cause: thrown });
  }
}
