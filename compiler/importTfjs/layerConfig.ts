/** Typed reading of a layer's configuration; what cannot be honoured is refused by layer name and class. */
import { StarlingError } from '../../protocol/errors.ts';
import type { TfjsLayer } from './modelJson.ts';

export function unsupported(layer: TfjsLayer, reason: string): StarlingError {
  return new StarlingError(
    'MODEL_UNSUPPORTED',
    `Layer ${layer.name} (${layer.className}) cannot be imported: ${reason}.`,
  );
}

export function numberOf(layer: TfjsLayer, key: string, fallback: number): number {
  const value = layer.config[key];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'number') throw unsupported(layer, `${key} is expected to be a number`);
  return value;
}

export function textOf(layer: TfjsLayer, key: string, fallback: string): string {
  const value = layer.config[key];
  if (value === undefined || value === null) return fallback;
  if (typeof value !== 'string') throw unsupported(layer, `${key} is expected to be a name`);
  return value;
}

export function flagOf(layer: TfjsLayer, key: string, fallback: boolean): boolean {
  const value = layer.config[key];
  return typeof value === 'boolean' ? value : fallback;
}

/** [along the height, along the width]; one number stands for both. */
export function pairOf(layer: TfjsLayer, key: string, fallback: number): readonly [number, number] {
  const value = layer.config[key];
  if (value === undefined || value === null) return [fallback, fallback];
  if (typeof value === 'number') return [value, value];
  if (Array.isArray(value)) {
    const [height, width] = value;
    if (value.length === 2 && typeof height === 'number' && typeof width === 'number') return [height, width];
  }
  throw unsupported(layer, `${key} is expected to be one or two numbers`);
}

export function requireChannelsLast(layer: TfjsLayer): void {
  const format = textOf(layer, 'data_format', 'channels_last');
  if (format !== 'channels_last') throw unsupported(layer, `its data_format is ${format}, not channels_last`);
}
