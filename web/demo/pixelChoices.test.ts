import { describe, expect, it } from 'vitest';
import type { ValueInfo } from '../../graph/graph.ts';
import { normalisations, pixelsToTensor } from '../tensorImages.ts';
import { pixelChoices, pixelOptions } from './pixelChoices.ts';

const value = (name: string, shape: ValueInfo['shape'], dataType: ValueInfo['dataType'] = 'float32') => {
  return shape === undefined ? { name, dataType } : { name, dataType, shape };
};
const valuesOf = (choices: { readonly choices: readonly { readonly value: string }[] } | null) =>
  choices?.choices.map((choice) => choice.value);

describe('pixelChoices', () => {
  it('offers pixels where a picture goes in and one comes out', () => {
    const { input, output } = pixelChoices({
      inputs: [value('tokens', [1, 8], 'int64'), value('image', [1, 3, 'h', 'w'])],
      outputs: [value('larger', [1, 3, 'H', 'W'])],
    });
    expect(input?.name).toBe('image');
    expect(valuesOf(input)).toEqual(['none', 'unit', 'signed', 'imagenet', 'pixels']);
    expect(valuesOf(output)).toEqual(['none', 'unit', 'pixels', 'classes']);
  });

  it('offers classes only where there are many channels, and three means only for three channels', () => {
    const { input, output } = pixelChoices({
      inputs: [value('grey', [1, 1, 32, 32])],
      outputs: [value('maps', [1, 12, 32, 32])],
    });
    expect(valuesOf(input)).toEqual(['none', 'unit', 'signed', 'pixels']);
    expect(valuesOf(output)).toEqual(['none', 'classes']);
  });

  it('offers nothing where no end is a picture', () => {
    const inputs = [value('features', [1, 64, 8, 8]), value('list', [1, 9])];
    expect(pixelChoices({ inputs, outputs: [value('logits', [1, 10]), value('any', undefined)] })).toEqual({
      input: null,
      output: null,
    });
  });
});

describe('pixelOptions', () => {
  it('are none where nothing is chosen', () => expect(pixelOptions('none', 'none')).toBeUndefined());

  it.each(['unit', 'signed', 'imagenet', 'pixels'] as const)('%s means what it means on the page', (name) => {
    const { scale = 1, mean = [0], std = [1] } = pixelOptions(name, 'none')?.input ?? {};
    const layout = { order: 'NCHW', channels: 3, height: 1, width: 1 } as const;
    const pixel = Uint8ClampedArray.of(10, 100, 200, 255);
    const expected = pixelsToTensor(pixel, layout, { normalisation: normalisations[name], colours: 'RGB' });
    const at = (list: readonly number[], i: number) => list[list.length === 1 ? 0 : i] ?? Number.NaN;
    for (let i = 0; i < 3; i++) {
      expect(((pixel[i] ?? 0) / scale - at(mean, i)) / at(std, i)).toBeCloseTo(expected[i] ?? 0, 5);
    }
  });

  it('give the ends that were chosen, and no other', () => {
    expect(pixelOptions('none', 'classes')).toEqual({ output: { classes: true } });
    expect(pixelOptions('pixels', 'unit')).toEqual({ input: { scale: 1 }, output: { scale: 255 } });
  });
});
