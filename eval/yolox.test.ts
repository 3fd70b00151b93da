import { describe, expect, it } from 'vitest';
import type { RgbImage } from './rgbImage.ts';
import { decodeYolox, letterbox } from './yolox.ts';

describe('letterbox', () => {
  it('keeps the picture at the top left in blue, green, red, and pads with grey', () => {
    const image: RgbImage = {
      width: 4,
      height: 2,
      data: new Uint8Array(24).map((_, i) => [10, 20, 30][i % 3] ?? 0),
    };
    const { planes, scale } = letterbox(image, 8);
    expect(scale).toBe(2);
    const row = (channel: number, y: number) => [
      ...planes.subarray((channel * 8 + y) * 8, (channel * 8 + y) * 8 + 8),
    ];
    for (const [channel, level] of [30, 20, 10].entries()) {
      expect(row(channel, 0)).toEqual(new Array(8).fill(level));
      expect(row(channel, 3)).toEqual(new Array(8).fill(level));
      expect(row(channel, 4)).toEqual(new Array(8).fill(114));
    }
  });

  it('resizes between pixel centres and rounds', () => {
    const image: RgbImage = {
      width: 2,
      height: 2,
      data: Uint8Array.of(0, 0, 0, 100, 100, 100, 0, 0, 0, 100, 100, 100),
    };
    const { planes } = letterbox(image, 4);
    expect([...planes.subarray(0, 4)]).toEqual([0, 25, 75, 100]);
    // Half as wide: between the first and the second, the third and the fourth.
    const ramp = new Uint8Array(24).map((_, i) => 10 * (Math.floor(i / 3) % 4));
    const smaller = letterbox({ width: 4, height: 2, data: ramp }, 2);
    expect([...smaller.planes.subarray(0, 4)]).toEqual([5, 25, 114, 114]);
  });
});

describe('decodeYolox', () => {
  it('finds a box in the grid of its stride', () => {
    const [size, classes] = [32, 2];
    // Cells: 4 x 4 of stride 8, 2 x 2 of stride 16, 1 of stride 32.
    const output = new Float32Array(21 * 7);
    output.set([0.5, 0.25, 0, 0, 0.9, 0.1, 0.8], 6 * 7);
    output.set([0, 0, 0, 0, 0.5, 1, 0], 18 * 7);
    const found = decodeYolox(output, size, classes, 0.3);
    expect(found).toHaveLength(2);
    // Cell 6 is row 1, column 2.
    expect(found[0]).toMatchObject({ left: 16, right: 24, top: 6, bottom: 14, label: 1 });
    expect(found[0]?.score).toBeCloseTo(0.72, 6);
    // Cell 18 is the third of stride 16: row 1, column 0.
    expect(found[1]).toMatchObject({ left: -8, right: 8, top: 8, bottom: 24, label: 0, score: 0.5 });
    expect(decodeYolox(output, size, classes, 0.6)).toHaveLength(1);
  });
});
