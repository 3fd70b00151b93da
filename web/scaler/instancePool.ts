/**
 * The port through which a room offers its instances to the scaler. What an instance is (one device with all
 * shards, a group, all devices) and where it lives is the room's business.
 */
export interface InstancePool<Run, Answer> {
  /** Instances that can run a batch now, idle or busy. Falls when a device leaves; 0 while there is none. */
  readonly size: number;

  /** What of a run matters for batching. Throws INPUT_INVALID for a run that fits no batch. */
  shapeOf(run: Run): RunShape;

  /**
   * Makes so many instances, each with so many threads. Settles when they can run and are warm, or rejects when the
   * room cannot hold them (those there are stay). An instance in excess that is busy answers its batch first.
   */
  resize(instances: number, threads: number): Promise<void>;

  /**
   * Runs one batch on an idle instance; never called for more batches at once than `size`. All runs have the same
   * shape. One outcome for each run, in their order, or rejects for all. Must settle whatever happens to devices.
   * After `signal` nobody waits for the outcome: stopping early saves work but is not needed.
   */
  run(runs: readonly Run[], signal: AbortSignal): Promise<BatchAnswer<Answer>>;

  /**
   * Calls `listener` when `size` changed by itself, or when devices, plan or backend changed so that earlier
   * measurements do not hold (`remeasure`). Returns what ends it.
   */
  onChange(listener: (change: { readonly remeasure: boolean }) => void): () => void;
}

export interface RunShape {
  /** Length of the batch axis, 1 or more. */
  readonly items: number;
  /** Equal for runs that may share a batch. */
  readonly key: string;
}

export interface BatchAnswer<Answer> {
  readonly outcomes: readonly (Answer | Error)[];
  readonly computeMs: number;
  /** Time in which devices waited for features of others. */
  readonly networkMs: number;
}
