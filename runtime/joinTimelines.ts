/**
 * Puts what the devices noted of one run on one clock, the host's. How far a clock is off follows from the transfers
 * themselves: the quickest one each way took equally long, as NTP assumes.
 */
import type { RunTimeline, StageSpan, TransferKind, TransferSpan } from '../protocol/timeline.ts';
import type { RoomProgram } from './lower/program.ts';
import type { DeviceRecord, RecordedTransfer } from './timelineRecorder.ts';

export interface RunRecords {
  readonly room: RoomProgram;
  /** Device ids in the order of the placement. */
  readonly devices: readonly string[];
  /** Index of the host. */
  readonly host: number;
  /** Null for a device that has not reported. */
  readonly records: readonly (DeviceRecord | null)[];
  /** On the host's clock. */
  readonly startedMs: number;
  readonly totalMs: number;
}

interface Ends {
  readonly from: number;
  readonly to: number;
}

export function joinTimelines({ room, devices, host, records, startedMs, totalMs }: RunRecords): RunTimeline {
  const endsOf = transferEnds(room, host);
  const sides = new Map<string, { ends: Ends; sent?: RecordedTransfer; received?: RecordedTransfer }>();
  records.forEach((record, device) => {
    for (const transfer of record?.transfers ?? []) {
      const key = `${transfer.kind} ${transfer.id}`;
      const ends = endsOf(transfer.kind, transfer.id);
      // Who neither sends nor receives it has nothing to say about it.
      if (ends === undefined || (ends.from !== device && ends.to !== device)) continue;
      const known = sides.get(key) ?? { ends };
      sides.set(key, { ...known, [ends.from === device ? 'sent' : 'received']: transfer });
    }
  });
  const joined = [...sides.values()];
  const offsets = devices.map((_, device) => (device === host ? 0 : clockOffset(joined, device, host)));
  const atHost = (device: number, ms: number) => ms - (offsets[device] ?? 0) - startedMs;
  const orNull = (device: number, ms: number | null | undefined) => (ms == null ? null : atHost(device, ms));
  return {
    devices: devices.map((device, index) => ({
      device,
      stages: (records[index]?.stages ?? []).map((span): StageSpan => {
        return {
          stage: span.stage,
          level: room.programs[index]?.stages[span.stage]?.level ?? 0,
          startMs: atHost(index, span.startMs),
          computedMs: atHost(index, span.computedMs),
          endMs: atHost(index, span.endMs),
          waitedFor: span.waitedFor,
        };
      }),
    })),
    transfers: joined.flatMap(({ ends: { from, to }, sent, received }): TransferSpan[] => {
      const one = sent ?? received;
      if (one === undefined) return [];
      const { kind, id, bytes } = one;
      const queuedMs = orNull(from, sent?.queuedMs);
      const handedMs = orNull(from, sent?.handedMs);
      return [{ kind, id, from, to, bytes, queuedMs, handedMs, arrivedMs: orNull(to, received?.arrivedMs) }];
    }),
    totalMs,
  };
}

function transferEnds(room: RoomProgram, host: number): (kind: TransferKind, id: number) => Ends | undefined {
  const ends = new Map<string, Ends>();
  for (const { feeds, results, sends } of room.programs) {
    for (const { id, device } of feeds) ends.set(`input ${id}`, { from: host, to: device });
    for (const { id, device } of results) ends.set(`output ${id}`, { from: device, to: host });
    for (const { id, from, to } of sends) ends.set(`tensor ${id}`, { from, to });
  }
  return (kind, id) => ends.get(`${kind} ${id}`);
}

/** What the device's clock shows more than the host's. Where only one way is known, that way counts as immediate. */
function clockOffset(
  transfers: readonly { ends: Ends; sent?: RecordedTransfer; received?: RecordedTransfer }[],
  device: number,
  host: number,
): number {
  const quickest = (from: number, to: number) =>
    Math.min(
      ...transfers.flatMap(({ ends, sent, received }) => {
        if (ends.from !== from || ends.to !== to) return [];
        const left = sent?.queuedMs;
        const arrived = received?.arrivedMs;
        return left == null || arrived == null ? [] : [arrived - left];
      }),
    );
  const [there, back] = [quickest(host, device), quickest(device, host)];
  if (Number.isFinite(there) && Number.isFinite(back)) return (there - back) / 2;
  if (Number.isFinite(there)) return there;
  return Number.isFinite(back) ? -back : 0;
}
