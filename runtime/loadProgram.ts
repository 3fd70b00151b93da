/** Turns a program and its weights into sessions of a backend, one per stage. */
import type { Model } from '../graph/graph.ts';
import type { Backend, Session } from './backend.ts';
import type { Program, Stage } from './lower/program.ts';
import { stageModel, weightsPath } from './stageModel.ts';
import type { WeightBlob } from './weights/blob.ts';

export interface LoadedStage {
  readonly stage: Stage;
  readonly session: Session;
}

export interface LoadedProgram {
  readonly program: Program;
  readonly stages: readonly LoadedStage[];
  release(): Promise<void>;
}

export interface LoadOptions {
  readonly model: Model;
  readonly backend: Backend;
  readonly openBatch: boolean;
  readonly onProgress?: (done: number, total: number) => void;
}

/** Throws SESSION_FAILED; what was created until then is released. */
export async function loadProgram(
  program: Program,
  blob: WeightBlob,
  { model, backend, openBatch, onProgress }: LoadOptions,
): Promise<LoadedProgram> {
  const stages: LoadedStage[] = [];
  const release = async () => {
    for (const { session } of stages.splice(0)) await session.release();
  };
  try {
    for (const stage of program.stages) {
      const bytes = stageModel(model, program, stage, blob, openBatch);
      const session = await backend.createSession(bytes, [{ path: weightsPath, data: blob.data }]);
      stages.push({ stage, session });
      onProgress?.(stages.length, program.stages.length);
    }
  } catch (thrown) {
    await release();
    throw thrown;
  }
  return { program, stages, release };
}
