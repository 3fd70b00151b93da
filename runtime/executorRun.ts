/** One run on one device: its tensors, the stages that have not run, what has to leave yet, and what it has cost. */
import type { TensorHandle } from './backend.ts';
import type { LoadedProgram, LoadedStage } from './loadProgram.ts';
import type { Program } from './lower/program.ts';
import type { TimelineRecorder } from './timelineRecorder.ts';
import { ValueStore } from './valueStore.ts';

/** What one device did for one run. */
export interface DeviceRunStats {
  readonly computeMs: number;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export class ExecutorRun {
  readonly id: number;
  readonly store: ValueStore;
  readonly pending: Set<LoadedStage>;
  /** Sends and results that have not left yet. */
  outgoing: number;
  /** Of sends and results that leave, for a run that is recorded. */
  readonly leaving: Promise<void>[] = [];
  recorder: TimelineRecorder | null = null;
  computeMs = 0;
  sentBytes = 0;
  receivedBytes = 0;

  /** `readers`: how often each name is read, from countReaders. */
  constructor(id: number, { program, stages }: LoadedProgram, readers: ReadonlyMap<string, number>) {
    this.id = id;
    this.store = new ValueStore(readers);
    this.pending = new Set(stages);
    this.outgoing = program.sends.length + program.results.length;
  }

  get isDone(): boolean {
    return this.outgoing === 0 && this.pending.size === 0;
  }

  get stats(): DeviceRunStats {
    const { computeMs, sentBytes, receivedBytes } = this;
    return { computeMs, sentBytes, receivedBytes };
  }

  /** A stage whose inputs are there: one that others wait for, else the first. */
  nextStage(): LoadedStage | undefined {
    let first: LoadedStage | undefined;
    for (const stage of this.pending) {
      if (!stage.stage.inputs.every((name) => this.store.has(name))) continue;
      if (stage.stage.sends) return stage;
      first ??= stage;
    }
    return first;
  }

  inputsOf({ stage }: LoadedStage): ReadonlyMap<string, TensorHandle> {
    return new Map(
      stage.inputs.flatMap((name) => {
        const handle = this.store.get(name);
        return handle === undefined ? [] : [[name, handle] as const];
      }),
    );
  }
}

/** How often each local name is read: by stages, sends and results. */
export function countReaders(program: Program): ReadonlyMap<string, number> {
  const readers = new Map<string, number>();
  const names = [
    ...program.stages.flatMap(({ inputs }) => inputs),
    ...program.sends.map(({ sourceName }) => sourceName),
    ...program.results.map(({ name }) => name),
  ];
  for (const name of names) readers.set(name, (readers.get(name) ?? 0) + 1);
  return readers;
}
