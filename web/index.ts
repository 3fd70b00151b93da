/** The public API of `starling-inference`: join a room, load a plan, run it over the devices that are there. */

export type { BackendInfo, BackendKind } from '../protocol/backendInfo.ts';
export type { CompileStep, DivisionAxis, PixelOptions } from '../protocol/compileChoices.ts';
export { type ErrorCode, errorCodes, StarlingError } from '../protocol/errors.ts';
export type { RunTimeline, StageSpan, TransferKind, TransferSpan } from '../protocol/timeline.ts';
export type { PlanSummary, PlanValue, RunStats } from '../workers/api.ts';
export type { ModelSignature } from '../workers/compileApi.ts';
export type { PlacementChoice } from './choosePlacement.ts';
export { type Classification, type ClassifyOptions, type ClassScore, classify } from './classify.ts';
export type { RunEvent } from './coordinator/coordinator.ts';
export type { DeviceChoice } from './coordinator/placer.ts';
export { createRoomSecret } from './createRoomSecret.ts';
export type { DeviceView } from './deviceView.ts';
export type { ScaledStats, ScalerWishes } from './instances/scaledRuns.ts';
export { joinRoom } from './joinRoom.ts';
export type {
  JoinOptions,
  LoadModelOptions,
  LoadOptions,
  ModelProgress,
  PlanToLoad,
  Room,
  RoomEvent,
} from './room.ts';
export { Overloaded } from './scaler/overloaded.ts';
export type { Decision } from './scaler/scalerApi.ts';
export type { RunOptions, RunReport, Session } from './session.ts';
export type { OutputTensor, TensorData, TensorLike } from './tensors.ts';
export { type OpenModel, openModelFile } from './worker/compileWorker.ts';
