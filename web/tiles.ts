/**
 * Any picture through a model of one fixed input size: cuts it into overlapping tiles, and puts the valid middles of
 * the results together. Pure; it decodes nothing and runs nothing.
 *
 * A tile's outer pixels see the tile's edge instead of the picture. Their results are cropped, except at the
 * picture's own border. A picture smaller than a tile is continued to the right and below by repeating its last
 * pixel; results within the receptive radius of that continued border may differ from the untiled model.
 */

/** Red, green, blue planes one after the other: 3 x height x width. */
export interface Planes {
  readonly data: Float32Array;
  readonly channels: number;
  readonly height: number;
  readonly width: number;
}

/** One axis of one tile, in pixels of the source. */
export interface Span {
  /** Where the tile begins. */
  readonly start: number;
  /** The part of the result that is kept. */
  readonly from: number;
  readonly to: number;
}

export interface Tile {
  readonly index: number;
  readonly rows: Span;
  readonly columns: Span;
}

export interface TileGrid {
  /** Of the source picture. */
  readonly height: number;
  readonly width: number;
  readonly tileHeight: number;
  readonly tileWidth: number;
  readonly tiles: readonly Tile[];
}

/**
 * @param radius source pixels around a pixel that its result depends on; neighbouring tiles overlap by at least twice
 * as much, so that every kept result has its whole surroundings in its own tile
 */
export function tileGrid(
  height: number,
  width: number,
  tileHeight: number,
  tileWidth: number,
  radius: number,
): TileGrid {
  const rows = spans(height, tileHeight, radius);
  const columns = spans(width, tileWidth, radius);
  const tiles = rows.flatMap((row, i) =>
    columns.map((column, k) => ({ index: i * columns.length + k, rows: row, columns: column })),
  );
  return { height, width, tileHeight, tileWidth, tiles };
}

/** Covers an axis; each position is kept from exactly one tile. */
export function spans(length: number, tile: number, radius: number): Span[] {
  if (length <= tile) return [{ start: 0, from: 0, to: length }];
  // A tile that is all border keeps one pixel in the middle rather than none.
  const margin = Math.min(Math.ceil(radius), Math.floor((tile - 1) / 2));
  const count = Math.ceil((length - 2 * margin) / (tile - 2 * margin));
  const starts = Array.from({ length: count }, (_, i) => Math.round((i * (length - tile)) / (count - 1)));
  return starts.map((start, i) => {
    const before = starts[i - 1];
    const after = starts[i + 1];
    // The border between two tiles runs through the middle of their overlap, as far from both edges as possible.
    const from = before === undefined ? 0 : Math.floor((start + before + tile) / 2);
    const to = after === undefined ? length : Math.floor((after + start + tile) / 2);
    return { start, from, to };
  });
}

/** The pixels of a tile, channels x tileHeight x tileWidth; beyond the picture its last row and column repeat. */
export function cutTile(picture: Planes, grid: TileGrid, tile: Tile): Float32Array {
  const { channels, height, width, data } = picture;
  const { tileHeight, tileWidth } = grid;
  const result = new Float32Array(channels * tileHeight * tileWidth);
  const there = Math.min(tileWidth, width - tile.columns.start);
  let at = 0;
  for (let c = 0; c < channels; c++) {
    for (let y = 0; y < tileHeight; y++) {
      const row = (c * height + Math.min(tile.rows.start + y, height - 1)) * width;
      const from = row + tile.columns.start;
      result.set(data.subarray(from, from + there), at);
      if (there < tileWidth) result.fill(data[row + width - 1] ?? 0, at + there, at + tileWidth);
      at += tileWidth;
    }
  }
  return result;
}

/** The kept middle of one tile's result (channels x tileHeight*scale x tileWidth*scale), and where it belongs. */
export function cropTile(
  grid: TileGrid,
  { rows, columns }: Tile,
  output: Float32Array,
  channels: number,
  scale: number,
): Planes & { readonly top: number; readonly left: number } {
  const width = (columns.to - columns.from) * scale;
  const height = (rows.to - rows.from) * scale;
  const data = new Float32Array(channels * height * width);
  for (let c = 0; c < channels; c++) {
    for (let y = 0; y < height; y++) {
      const row = (c * grid.tileHeight + rows.from - rows.start) * scale + y;
      const from = (row * grid.tileWidth + columns.from - columns.start) * scale;
      data.set(output.subarray(from, from + width), (c * height + y) * width);
    }
  }
  return { data, channels, height, width, top: rows.from * scale, left: columns.from * scale };
}
