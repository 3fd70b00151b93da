/** Numbers and states in words for people. Pure. */
import type { DeviceView } from '../deviceView.ts';

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB'];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function formatTime(ms: number): string {
  if (ms < 995) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 99.5) return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

/** How much faster a room was than one device alone, on the same picture. */
export function comparison(aloneMs: number, roomMs: number, devices: number): string {
  if (devices < 2) return 'The other devices have left; there is nothing to compare.';
  const times = `One device ${formatTime(aloneMs)}, ${devices} devices ${formatTime(roomMs)}`;
  const factor = aloneMs / roomMs;
  if (factor >= 1.005) return `${times}: the room is ${factor.toFixed(2)} times as fast.`;
  if (factor <= 0.995) return `${times}: the room takes ${(1 / factor).toFixed(2)} times as long.`;
  return `${times}: no difference.`;
}

export function plural(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}

export function deviceState({ state, progress, shards }: DeviceView): string {
  switch (state) {
    case 'connecting':
      return 'Connecting';
    case 'waiting':
      return 'Waiting';
    case 'loading':
      // All is there; its first run checks and times it, which takes a while on a slow device.
      return progress < 0.995 ? `Loading ${Math.round(100 * progress)} %` : 'Trying it out';
    case 'ready':
      return `${shards.length === 1 ? 'Shard' : 'Shards'} ${listNumbers(shards)}`;
    case 'may-stop':
      return 'In the background';
    case 'failed':
      return 'Not taking part';
  }
}

/** Shards are numbered from 1 for people. */
function listNumbers(shards: readonly number[]): string {
  const [first = 0, last = 0] = [shards[0], shards.at(-1)];
  const contiguous = shards.length > 2 && last - first === shards.length - 1;
  return contiguous ? `${first + 1} to ${last + 1}` : shards.map((shard) => shard + 1).join(' and ');
}

export function deviceDetails({ backend, path, roundTripMs, self }: DeviceView): string {
  const parts: string[] = [];
  if (backend?.kind === 'webgpu') parts.push('WebGPU');
  else if (backend !== null) parts.push(`WASM, ${plural(backend.threads, 'thread')}`);
  if (path === 'relay') parts.push('relayed');
  if (!self && roundTripMs !== null)
    parts.push(`${roundTripMs < 10 ? roundTripMs.toFixed(1) : Math.round(roundTripMs)} ms away`);
  return parts.join(' · ');
}
