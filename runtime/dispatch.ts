/** Hands a value that is there to everybody who gets it: read once, sent as often as it is wanted. */
import type { Tensor } from '../graph/tensor.ts';
import { StarlingError } from '../protocol/errors.ts';
import type { ExecutorRun } from './executorRun.ts';
import type { Program, Result, Transfer } from './lower/program.ts';
import type { DeviceRecord } from './timelineRecorder.ts';

/** What gets a tensor copies it before it returns: its bytes may lie in the engine's memory. */
export interface Deliveries {
  /** Resolves when the frame is with the channel. */
  sendTransfer(run: number, transfer: Transfer, tensor: Tensor): Promise<void>;
  sendResult(run: number, result: Result, tensor: Tensor): Promise<void>;
  /** A run that is recorded has left this device: all it had to send is with the channels. */
  recorded(run: number, record: DeviceRecord): void;
  /** A stage or a send of this run failed on this device. */
  failed(run: number, error: StarlingError): void;
}

export interface DispatchOptions {
  readonly program: Program;
  readonly deliveries: Deliveries;
  /** Failures of runs that are over are nobody's concern. */
  readonly isOver: (run: number) => boolean;
}

export async function dispatch(
  run: ExecutorRun,
  name: string,
  { program, deliveries, isOver }: DispatchOptions,
): Promise<void> {
  const sends = program.sends.filter(({ sourceName }) => sourceName === name);
  const results = program.results.filter((result) => result.name === name);
  const handle = run.store.get(name);
  if (handle === undefined || sends.length + results.length === 0) return;
  const tensor = handle.peek() ?? (await handle.read());
  const bytes = tensor.data.byteLength;
  const leave = (kind: 'tensor' | 'output', id: number, sent: Promise<void>) => {
    run.outgoing--;
    run.store.done(name);
    if (run.recorder !== null) {
      run.recorder.queued(kind, id, bytes, sent);
      run.leaving.push(sent);
    }
    sent.catch((thrown: unknown) => {
      if (!isOver(run.id)) deliveries.failed(run.id, StarlingError.from(thrown, 'PEER_LOST'));
    });
  };
  for (const transfer of sends) {
    run.sentBytes += bytes;
    leave('tensor', transfer.id, deliveries.sendTransfer(run.id, transfer, tensor));
  }
  for (const result of results) {
    leave('output', result.id, deliveries.sendResult(run.id, result, tensor));
  }
}
