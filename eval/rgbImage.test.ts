import { encode } from 'fast-png';
import { describe, expect, it } from 'vitest';
import { imageOf, planesOf } from './pixels.ts';
import { decodeImage, encodePng, type RgbImage } from './rgbImage.ts';

const picture: RgbImage = { width: 3, height: 2, data: Uint8Array.from({ length: 18 }, (_, i) => i * 14) };

/** A baseline JPEG, 8 x 8, one grey level: quantisation of ones, a DC-only block, level 128 + 2. */
function greyJpeg(width = 8, height = 8): Uint8Array {
  const segment = (marker: number, ...body: number[]) => [0xff, marker, 0, body.length + 2, ...body];
  return Uint8Array.from([
    0xff,
    0xd8,
    ...segment(0xdb, 0, ...new Array<number>(64).fill(1)),
    ...segment(0xc0, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0),
    // DC: one code of one bit, for a difference of 5 bits; AC: one code of one bit, the end of the block.
    ...segment(0xc4, 0x00, 1, ...new Array<number>(15).fill(0), 5),
    ...segment(0xc4, 0x10, 1, ...new Array<number>(15).fill(0), 0),
    ...segment(0xda, 1, 1, 0x00, 0, 63, 0),
    // 0, 10000 (16 / 8 = 2 levels), 0, padding of ones.
    0b0_10000_0_1,
    0xff,
    0xd9,
  ]);
}

describe('decodeImage', () => {
  it('reads back the PNG it wrote', () => {
    expect(decodeImage(encodePng(picture))).toEqual(picture);
  });

  it('widens grey and cuts 16 bits and alpha', () => {
    const grey = encode({
      width: 2,
      height: 1,
      data: Uint16Array.of(0x1234, 0xff00),
      channels: 1,
      depth: 16,
    });
    expect([...decodeImage(grey).data]).toEqual([0x12, 0x12, 0x12, 0xff, 0xff, 0xff]);
    const rgba = encode({ width: 1, height: 1, data: Uint8Array.of(1, 2, 3, 0), channels: 4, depth: 8 });
    expect([...decodeImage(rgba).data]).toEqual([1, 2, 3]);
  });

  it('reads a JPEG', () => {
    const { width, height, data } = decodeImage(greyJpeg());
    expect([width, height]).toEqual([8, 8]);
    expect(new Set(data)).toEqual(new Set([130]));
  });

  it('refuses what it cannot decode, and sizes that only a bomb has', () => {
    const damaged = encodePng(picture);
    damaged[45] = (damaged[45] ?? 0) ^ 0xff;
    const cases: readonly (readonly [Uint8Array, RegExp])[] = [
      [new TextEncoder().encode('GIF89a'), /neither a PNG nor a JPEG/],
      [new Uint8Array(), /neither a PNG nor a JPEG/],
      [damaged, /cannot be decoded/],
      [encodePng(picture).slice(0, 50), /cannot be decoded/],
      [greyJpeg().slice(0, 100), /cannot be decoded/],
      [greyJpeg(65_535, 65_535), /65535 x 65535 pixels; at most/],
    ];
    for (const [bytes, message] of cases) {
      expect(() => decodeImage(bytes, 'a.bin')).toThrowError(
        expect.objectContaining({ code: 'IMAGE_UNREADABLE', message: expect.stringMatching(message) }),
      );
    }
    expect(decodeImage(greyJpeg()).width).toBe(8);
  });
});

describe('pixels', () => {
  it('makes planes and pictures of each other', () => {
    const planes = planesOf(picture);
    expect(planes[0]).toBe(0);
    expect(planes[6]).toBeCloseTo(14 / 255, 6);
    expect(imageOf(planes, 3, 2)).toEqual(picture);
  });

  it('normalises per plane, in the order asked for', () => {
    const one = { width: 1, height: 1, data: Uint8Array.of(10, 20, 30) };
    const planes = planesOf(one, { order: 'bgr', mean: [1, 2, 3], std: [1, 2, 4] });
    expect([...planes]).toEqual([29, 9, 1.75]);
  });

  it('clips what lies outside', () => {
    expect([...imageOf(Float32Array.of(-1, 0.5, 2), 1, 1).data]).toEqual([0, 128, 255]);
  });
});
