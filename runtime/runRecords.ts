/**
 * The host's side of runs that are recorded: asks the devices to take notes, collects these, and joins them to a
 * timeline. A device that does not report holds nobody up for long.
 */
import type { TensorHeader } from '../protocol/frame.ts';
import { limits } from '../protocol/limits.ts';
import type { RunTimeline } from '../protocol/timeline.ts';
import type { Clock } from './clock.ts';
import { joinTimelines } from './joinTimelines.ts';
import type { RoomProgram } from './lower/program.ts';
import { type DeviceRecord, recordColumns, type TimelineRecorder } from './timelineRecorder.ts';

export interface RecordedRoom {
  readonly room: RoomProgram;
  /** Device ids in the order of the placement. */
  readonly devices: readonly string[];
  readonly host: string;
}

interface RecordedRun {
  readonly recorder: TimelineRecorder;
  readonly records: (DeviceRecord | null)[];
  onWhole: () => void;
}

export class RunRecords {
  readonly #clock: Clock;
  readonly #runs = new Map<number, RecordedRun>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `recorder` is the host's own. */
  start(run: number, devices: number, recorder: TimelineRecorder): void {
    const records = new Array<DeviceRecord | null>(devices).fill(null);
    this.#runs.set(run, { recorder, records, onWhole: () => {} });
  }

  /** The recorder of a run that is recorded. */
  recorder(run: number): TimelineRecorder | undefined {
    return this.#runs.get(run)?.recorder;
  }

  /** Whether a frame of notes fits one that is waited for. */
  expects({ run, dataType, dims }: TensorHeader, from: number): boolean {
    const [rows = 0, columns] = dims;
    const sound = dataType === 'float64' && columns === recordColumns && dims.length === 2;
    return sound && rows <= limits.recordRows && this.#runs.get(run)?.records[from] === null;
  }

  put(run: number, device: number, record: DeviceRecord): void {
    const records = this.#runs.get(run)?.records;
    if (records?.[device] !== null) return;
    records[device] = record;
    if (!records.includes(null)) this.#runs.get(run)?.onWhole();
  }

  drop(run: number): void {
    this.#runs.delete(run);
  }

  /** Resolves when every device has reported, or after limits.recordMs; undefined for a run that is not recorded. */
  async join(
    runId: number,
    startedMs: number,
    totalMs: number,
    { room, devices, host: hostId }: RecordedRoom,
  ): Promise<RunTimeline | undefined> {
    const run = this.#runs.get(runId);
    if (run === undefined) return undefined;
    if (run.records.includes(null)) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.after(limits.recordMs, resolve);
        run.onWhole = () => {
          cancel();
          resolve();
        };
      });
    }
    this.#runs.delete(runId);
    const host = devices.indexOf(hostId);
    // Outputs may have come after its last stage.
    const records = run.records.map((record, device) => (device === host ? run.recorder.record() : record));
    return joinTimelines({ room, devices, host, records, startedMs, totalMs });
  }
}
