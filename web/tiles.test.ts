import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cropTile, cutTile, type Planes, spans, tileGrid } from './tiles.ts';

/** Two 3 x 3 convolutions with zero padding and a bend between them, then nearest-neighbour x2: radius 2. */
function tinyNetwork({ data, channels, height, width }: Planes): Planes {
  const kernel = [0.5, -1, 0.25, 0.75, 1, -0.5, 0.1, 0.3, -0.2];
  const convolve = (source: Float32Array) => {
    const result = new Float32Array(source.length);
    for (let c = 0; c < channels; c++) {
      for (let y = 0; y < height; y++) {
        for (let x = 0; x < width; x++) {
          let sum = 0;
          for (let k = 0; k < 9; k++) {
            const [sy, sx] = [y + Math.floor(k / 3) - 1, x + (k % 3) - 1];
            if (sy < 0 || sx < 0 || sy >= height || sx >= width) continue;
            sum += (kernel[k] ?? 0) * (source[(c * height + sy) * width + sx] ?? 0);
          }
          result[(c * height + y) * width + x] = sum > 0 ? sum : 0.2 * sum;
        }
      }
    }
    return result;
  };
  const features = convolve(convolve(data));
  const large = new Float32Array(channels * height * width * 4);
  for (let c = 0; c < channels; c++) {
    for (let y = 0; y < height * 2; y++) {
      for (let x = 0; x < width * 2; x++) {
        const value = features[(c * height + (y >> 1)) * width + (x >> 1)] ?? 0;
        large[(c * height * 2 + y) * width * 2 + x] = value + (x % 2) * 0.1 + (y % 2) * 0.01;
      }
    }
  }
  return { data: large, channels, height: height * 2, width: width * 2 };
}

function picture(height: number, width: number): Planes {
  const data = Float32Array.from({ length: 3 * height * width }, (_, i) => Math.sin(i * 12.9898) * 0.5 + 0.5);
  return { data, channels: 3, height, width };
}

function tiled(source: Planes, tile: number, radius: number): Planes {
  const grid = tileGrid(source.height, source.width, tile, tile, radius);
  const [height, width] = [source.height * 2, source.width * 2];
  const mosaic = { data: new Float32Array(3 * height * width), channels: 3, height, width };
  for (const one of grid.tiles) {
    const data = cutTile(source, grid, one);
    const { data: output } = tinyNetwork({ data, channels: 3, height: tile, width: tile });
    const kept = cropTile(grid, one, output, 3, 2);
    for (let row = 0; row < 3 * kept.height; row++) {
      const [c, y] = [Math.floor(row / kept.height), row % kept.height];
      const from = kept.data.subarray(row * kept.width, (row + 1) * kept.width);
      mosaic.data.set(from, (c * height + kept.top + y) * width + kept.left);
    }
  }
  return mosaic;
}

/** The largest difference between two pictures, `border` pixels at the right and below not looked at. */
function difference(a: Planes, b: Planes, border = 0): number {
  let largest = 0;
  for (let c = 0; c < a.channels; c++) {
    for (let y = 0; y < a.height - border; y++) {
      for (let x = 0; x < a.width - border; x++) {
        const at = (c * a.height + y) * a.width + x;
        largest = Math.max(largest, Math.abs((a.data[at] ?? 0) - (b.data[at] ?? 0)));
      }
    }
  }
  return largest;
}

describe('tiles', () => {
  it('give the untiled result exactly, borders included, where the picture is larger than a tile', () => {
    for (const [height, width] of [
      [37, 50],
      [16, 16],
      [17, 90],
    ] as const) {
      const source = picture(height, width);
      expect(difference(tiled(source, 16, 2), tinyNetwork(source))).toBe(0);
    }
  });

  it('are different when they overlap less than the network sees', () => {
    const source = picture(32, 48);
    expect(difference(tiled(source, 16, 0), tinyNetwork(source))).toBeGreaterThan(1e-3);
  });

  it('give the untiled result of a small picture away from the border that was continued', () => {
    const source = picture(9, 11);
    const [small, whole] = [tiled(source, 16, 2), tinyNetwork(source)];
    expect(difference(small, whole, 4)).toBe(0);
    expect([small.height, small.width]).toEqual([18, 22]);
  });
});

describe('spans', () => {
  it('keep every position once, with the whole radius around it unless the picture ends', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 700 }),
        fc.integer({ min: 8, max: 128 }),
        fc.integer({ min: 0, max: 30 }),
        (length, tile, radius) => {
          const all = spans(length, tile, radius);
          let next = 0;
          for (const { start, from, to } of all) {
            expect(from).toBe(next);
            expect(to).toBeGreaterThan(from);
            expect(from).toBeGreaterThanOrEqual(start);
            expect(to).toBeLessThanOrEqual(start + tile);
            if (length > tile) expect(start + tile).toBeLessThanOrEqual(length);
            if (2 * radius < tile) {
              if (from > 0) expect(from - start).toBeGreaterThanOrEqual(radius);
              if (to < length) expect(start + tile - to).toBeGreaterThanOrEqual(radius);
            }
            next = to;
          }
          expect(next).toBe(length);
        },
      ),
    );
  });
});
