import { describe, expect, it } from 'vitest';
import {
  argmaxMask,
  classColour,
  imageLayout,
  normalisations,
  pixelsToTensor,
  tensorToPixels,
  topValues,
} from './tensorImages.ts';

describe('imageLayout', () => {
  it.each([
    [[1, 3, 416, 416], { order: 'NCHW', channels: 3, height: 416, width: 416 }],
    [[1, 224, 200, 3], { order: 'NHWC', channels: 3, height: 224, width: 200 }],
    [[1, 32, 48], { order: 'NCHW', channels: 1, height: 32, width: 48 }],
    [[3, 32, 48], { order: 'NCHW', channels: 3, height: 32, width: 48 }],
  ])('%j is a picture', (shape, layout) => {
    expect(imageLayout(shape)).toEqual(layout);
  });

  it.each([[[1, 1000]], [[1, 3549, 85]], [[2, 3, 8, 8]], [[1, 12, 360, 480]], [[1, 3, 1, 1]], [[]]])(
    '%j is none',
    (shape) => {
      expect(imageLayout(shape)).toBeNull();
    },
  );

  it('takes any number of channels for a mask', () => {
    expect(imageLayout([1, 12, 360, 480], true)).toMatchObject({ order: 'NCHW', channels: 12 });
    expect(imageLayout([1, 65, 65, 21], true)).toMatchObject({ order: 'NHWC', channels: 21 });
    expect(imageLayout([1, 1, 8, 8], true)).toBeNull();
  });
});

describe('pixelsToTensor', () => {
  const rgba = new Uint8ClampedArray(4 * 16).map((_, i) => (i % 4 === 3 ? 255 : (i * 7) % 256));
  const layout = { order: 'NCHW', channels: 3, height: 4, width: 4 } as const;

  it('normalises red, green and blue as each preset says', () => {
    const [red = 0, green = 0, blue = 0] = rgba.subarray(20, 23);
    const at5 = (name: keyof typeof normalisations) => {
      const values = pixelsToTensor(rgba, layout, {
        normalisation: normalisations[name],
        colours: 'RGB',
      });
      return [values[5], values[21], values[37]].map((value) => Number(value?.toFixed(4)));
    };
    const rounded = (...values: number[]) => values.map((value) => Number(Math.fround(value).toFixed(4)));
    expect(at5('pixels')).toEqual([red, green, blue]);
    expect(at5('unit')).toEqual(rounded(red / 255, green / 255, blue / 255));
    expect(at5('signed')).toEqual(rounded(red / 127.5 - 1, green / 127.5 - 1, blue / 127.5 - 1));
    expect(at5('imagenet')).toEqual(
      rounded((red / 255 - 0.485) / 0.229, (green / 255 - 0.456) / 0.224, (blue / 255 - 0.406) / 0.225),
    );
  });

  it('orders colours and axes as the model takes them', () => {
    const normalisation = normalisations.pixels;
    const rgb = pixelsToTensor(rgba, layout, { normalisation, colours: 'RGB' });
    const bgr = pixelsToTensor(rgba, layout, { normalisation, colours: 'BGR' });
    expect(bgr.subarray(0, 16)).toEqual(rgb.subarray(32, 48));
    const last = pixelsToTensor(rgba, { ...layout, order: 'NHWC' }, { normalisation, colours: 'RGB' });
    expect(last[3 * 5 + 2]).toBe(rgb[32 + 5]);
  });

  it('gives back the picture it took', () => {
    const values = pixelsToTensor(rgba, layout, {
      normalisation: normalisations.unit,
      colours: 'RGB',
    });
    expect(tensorToPixels(values, layout)).toEqual({ rgba, range: [0, 1] });
  });
});

describe('what outputs show', () => {
  it('stretches values that keep to no range of pixels', () => {
    const { rgba, range } = tensorToPixels(
      Float32Array.from({ length: 16 }, (_, i) => i * 100 - 500),
      {
        order: 'NCHW',
        channels: 1,
        height: 4,
        width: 4,
      },
    );
    expect(range).toEqual([-500, 1000]);
    expect([rgba[0], rgba[1], rgba[60]]).toEqual([0, 0, 255]);
  });

  it('takes the greatest channel of every pixel, in either order of axes', () => {
    const planes = [1, 0, 0, 5, 2, 9, 0, 5, 0, 9, 1, 4];
    const nchw = { order: 'NCHW', channels: 3, height: 2, width: 2 } as const;
    const mask = argmaxMask(planes, nchw);
    expect([...mask.classes]).toEqual([1, 1, 2, 0]);
    expect(mask.counts[0]).toEqual([1, 2]);
    const interleaved = [0, 1, 2, 3].flatMap((i) => [planes[i] ?? 0, planes[4 + i] ?? 0, planes[8 + i] ?? 0]);
    expect(argmaxMask(interleaved, { ...nchw, order: 'NHWC' }).classes).toEqual(mask.classes);
  });

  it('lists the greatest values first', () => {
    expect(topValues([3, -1, 7, 7, 0], 3)).toEqual([
      { index: 2, value: 7 },
      { index: 3, value: 7 },
      { index: 0, value: 3 },
    ]);
    expect(topValues([1], 5)).toEqual([{ index: 0, value: 1 }]);
  });

  it('gives neighbouring classes different colours', () => {
    const colours = Array.from({ length: 30 }, (_, i) => classColour(i).join());
    expect(new Set(colours).size).toBe(30);
  });
});
