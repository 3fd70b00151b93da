/** Every limit of the project by name: lengths in bytes, times in milliseconds, counts. */

export const limits = {
  /** Bytes of one message to or from the signaling server. */
  signalingMessageBytes: 64 * 1024,
  /** Signaling messages one client may send in a second, and in one burst. */
  signalingMessagesPerSecond: 50,
  signalingMessageBurst: 200,
  /** Refused messages (malformed, too many) that one client may have in a second, and in one burst, before it is cut off. */
  signalingRefusalsPerSecond: 1,
  signalingRefusalBurst: 100,
  /** Bytes that may wait for a client that does not read before it is cut off. */
  signalingBufferedBytes: 4 * 1024 * 1024,
  /** Open connections of one signaling server, joined or not. */
  signalingConnections: 4096,
  /** Of these from one network address; many devices may share one. */
  signalingConnectionsPerAddress: 256,
  /** Wait before a lost signaling connection is tried again: doubles from the first to the last. */
  signalingRetryFirstMs: 250,
  signalingRetryLastMs: 10_000,
  signalingConnectMs: 10_000,
  roomMembers: 16,
  rooms: 1000,
  roomNameLength: 64,
  iceServers: 16,
  /** A member that has not been heard from for so long is gone. */
  presenceMs: 30_000,
  pingMs: 10_000,
  /** Milliseconds after which a peer that is not connected is reported. */
  peerConnectMs: 15_000,
  /** Wait before a lost or failed peer is made again: doubles from the first to the last. */
  peerRetryFirstMs: 500,
  peerRetryLastMs: 30_000,
  heartbeatMs: 1_000,
  heartbeatLostMs: 6_000,
  /** Bytes of one control message between two pages. */
  controlMessageBytes: 256 * 1024,
  /** Bytes of one message on the tensor channel; larger frames are split. 64 KiB passes between all browsers. */
  frameChunkBytes: 64 * 1024,
  /** Bytes of one tensor that a peer may announce. */
  tensorBytes: 512 * 1024 * 1024,
  /** Bytes that one peer may have in reassembly at once. */
  reassemblyBytes: 1024 * 1024 * 1024,
  /** Bytes that may wait in a data channel's send buffer before the sender pauses. */
  channelBufferedBytes: 1024 * 1024,
  /** The sender goes on when no more than this waits. */
  channelLowBytes: 256 * 1024,
  /** A link repeats its hello so often until the other end has answered. */
  helloMs: 200,
  /**
   * Silence after which a link gives its peer up by itself. Chromium never closes the channel to a tab that died, but a
   * Worker that loads a model may answer nothing for many seconds: the pages' heartbeat is quicker and decides first.
   */
  linkLostMs: 30_000,
  /** Frames of one peer that are remembered as complete, so that a repeated part is known as such. */
  finishedFrames: 4096,
  /** Rows of what a device noted of one run, and how long the host waits for it after the run. */
  recordRows: 65_536,
  recordMs: 1_000,
  /** Dimensions of a tensor. */
  tensorRank: 16,
  /** Nodes that the functions of a model may become; a few that call each other twice would make any number. */
  inlinedNodes: 200_000,
  shards: 32,
  devices: 16,
  planBytes: 64 * 1024 * 1024,
  /** Bytes of a model that a page compiles, and of one file of a plan that devices send each other. */
  modelBytes: 1024 * 1024 * 1024,
  /** Such a file travels in pieces that its receiver asks for, so many at once; a sender answers no more at once. */
  filePieceBytes: 256 * 1024,
  filePieces: 8,
  filePiecesServed: 32,
  /** A device that answers no piece for so long is asked no further; loading a plan may keep its Worker busy. */
  filePieceMs: 40_000,
  runMs: 120_000,
  /** Fetching, compiling and starting the inference runtime and its threads (14 to 27 MB over a slow network). */
  runtimeStartMs: 120_000,
  /** A Worker that answers nothing for so long while it starts is blocked; it is started so often in all. */
  workerAnswerMs: 10_000,
  workerStarts: 3,
  /** Pixels of a picture that is decoded (a compressed file of a few bytes may claim any size). */
  imagePixels: 100_000_000,
  /** Characters of a device id, of a text in a device's status, and of a plan's address. */
  deviceIdLength: 64,
  statusTextLength: 1000,
  urlLength: 4096,
  /** Milliseconds between two reports of a load's progress to the other devices. */
  statusIntervalMs: 200,
  /** A placement is thought over no more often. */
  placementRethinkMs: 3_000,
  /** Plans of one model that a page may load to choose from. */
  plansAtOnce: 8,
  /** A device whose load makes no progress for so long gets no shards. */
  loadStallMs: 60_000,
  /** A host stays host for so long after its last run, and at most so long while another device waits. */
  hostIdleMs: 1_000,
  hostHoldMs: 10_000,
  /** A device that has waited so long for a host that does not answer becomes host itself. */
  hostClaimMs: 150_000,
  /** Time for the room to notice who was lost before an interrupted run starts again, and how often it does. */
  runRetryMs: 1_500,
  runRetries: 2,
  /** Times in a while that a page starts its Worker anew after it died. */
  workerRestarts: 3,
  workerRestartsMs: 60_000,
  /** Runs that may wait for an instance; the next one is refused as OVERLOADED. */
  queuedRuns: 256,
  /** Items of one batch, and instances of one plan, that a page may ask for. */
  batchItems: 256,
  instances: 32,
  /**
   * Numbers of the data channels between the Workers of instances. Others, and those that browsers give by themselves,
   * are smaller; Firefox agrees on 256 in all.
   */
  instanceChannelFirst: 16,
  instanceChannelLast: 255,
  /** Making an instance: Worker, runtime, weights, sessions, warm-up; on all its devices. */
  instanceOpenMs: 120_000,
  /** An instance that is not used any more is kept for so long, in case it is wanted again. */
  instanceParkedMs: 30_000,
  /** Times that one batch is tried again on other devices. */
  batchRetries: 8,
  /** Batches that make a window of the scaler, of a probe, and the fewest when the time below is over. */
  windowBatches: 20,
  probeBatches: 8,
  /** Of traffic, until the scaler knows whether batches or instances pay. */
  profileMs: 2_000,
  windowLeastBatches: 5,
  windowMs: 2_000,
  /** No window is shorter, however quick its batches: what else a device does for a moment would fill it. */
  windowShortestMs: 500,
  /** After instances were made engines still compile beside what they run; nothing counts until then. */
  settleMs: 500,
  /** Over which the panel's percentiles and throughput are taken. */
  statsMs: 10_000,
  statsRuns: 4096,
} as const;
