/** `--pixels` and what belongs to it: which ends of a model are 8-bit pictures, and what a pixel is there. */
import type { PixelOptions } from '../protocol/compileChoices.ts';
import { StarlingError } from '../protocol/errors.ts';

export const pixelArguments = {
  pixels: { type: 'string' },
  'pixel-scale': { type: 'string', default: '255' },
  'pixel-mean': { type: 'string' },
  'pixel-std': { type: 'string' },
} as const;

interface PixelValues {
  readonly 'pixel-scale': string;
  readonly 'pixel-mean'?: string | undefined;
  readonly 'pixel-std'?: string | undefined;
}

/** `classes`: pixels in, and of the scores that come out the class with the greatest one. */
const ends: readonly string[] = ['in', 'out', 'both', 'classes'];

/**
 * The model's input is (pixel / scale - mean) / std; its output times scale is a pixel.
 * Throws StarlingError USAGE.
 */
export function parsePixels(end: string, values: PixelValues): PixelOptions {
  const scale = Number(values['pixel-scale']);
  if (!ends.includes(end) || !(scale > 0)) {
    throw new StarlingError(
      'USAGE',
      `Expected --pixels ${ends.join(' or ')} and a positive --pixel-scale, got "${end}" and "${values['pixel-scale']}".`,
    );
  }
  const mean = numbers('--pixel-mean', values['pixel-mean'], Number.isFinite);
  const std = numbers('--pixel-std', values['pixel-std'], (value) => value > 0);
  const input = { scale, ...(mean === undefined ? {} : { mean }), ...(std === undefined ? {} : { std }) };
  return {
    ...(end === 'out' ? {} : { input }),
    ...(end === 'in' ? {} : { output: end === 'classes' ? { classes: true as const } : { scale } }),
  };
}

function numbers(option: string, text: string | undefined, valid: (value: number) => boolean) {
  if (text === undefined) return undefined;
  const parsed = text.split(',').map(Number);
  if (parsed.every(valid)) return parsed;
  throw new StarlingError('USAGE', `Expected ${option} like 0.485,0.456,0.406, got "${text}".`);
}
