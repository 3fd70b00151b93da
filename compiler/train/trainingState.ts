/** Everything that changes in a training, as live arrays by name, and as a checkpoint and back. */
import { StarlingError } from '../../protocol/errors.ts';
import { readCheckpoint, writeCheckpoint } from './checkpoint.ts';
import type { ExchangedValue } from './exchangedValues.ts';
import type { FeatureRange } from './fakeQuantisation.ts';
import type { Parameters } from './parameters.ts';

export interface TrainingState {
  readonly parameters: Parameters;
  /** Means and variances of batch normalisation, by initializer. */
  readonly running: Parameters;
  readonly exchanges: readonly ExchangedValue[];
  readonly ranges: ReadonlyMap<string, FeatureRange>;
}

function liveArrays(state: TrainingState): Map<string, Float32Array | Uint8Array> {
  const arrays = new Map<string, Float32Array | Uint8Array>();
  for (const [name, { value, velocity, square }] of state.parameters) {
    arrays.set(`value ${name}`, value);
    arrays.set(`velocity ${name}`, velocity);
    if (square !== undefined) arrays.set(`square ${name}`, square);
  }
  for (const [name, { value }] of state.running) arrays.set(`running ${name}`, value);
  for (const { value, reads } of state.exchanges) {
    for (const [shard, list] of reads.entries()) arrays.set(`reads ${shard} ${value}`, list);
  }
  for (const [value, { low, high }] of state.ranges) {
    arrays.set(`low ${value}`, low);
    arrays.set(`high ${value}`, high);
  }
  return arrays;
}

export function saveState(state: TrainingState, step: number): Uint8Array {
  return writeCheckpoint({ arrays: liveArrays(state), numbers: new Map([['step', step]]) });
}

/** Writes a checkpoint into the live arrays and returns its step. Throws FILE_UNREADABLE for one of another model. */
export function restoreState(state: TrainingState, bytes: Uint8Array): number {
  const { arrays, numbers } = readCheckpoint(bytes);
  const live = liveArrays(state);
  const fits =
    arrays.size === live.size &&
    [...live].every(([name, array]) => arrays.get(name)?.length === array.length);
  if (!fits) {
    throw new StarlingError('FILE_UNREADABLE', 'The checkpoint belongs to another model or division.');
  }
  for (const [name, array] of live) array.set(arrays.get(name) ?? []);
  return numbers.get('step') ?? 0;
}
