/** What whoever has a model compiled may choose and is told: the command line, and a page that asks its Worker. */

export type CompileStep = 'load' | 'normalise' | 'divide' | 'lower' | 'emit';

/**
 * `auto` takes whatever is predicted to be fastest for the given devices and link. `layers` divides no layer: it is the
 * pipeline that the others are measured against.
 */
export type DivisionAxis = 'channels' | 'rows' | 'auto' | 'layers';

/** What features are sent as between shards; what a shard computes with stays float32. */
export type WireChoice = 'float32' | 'float16' | 'uint8';

/** Whether each feature has a scale of its own, or one is for all features of a value. */
export type ScaleChoice = 'feature' | 'tensor';

export interface PixelOptions {
  /** What the model's float input is of a pixel 0..255: (pixel / scale - mean) / std. */
  readonly input?: {
    readonly scale: number;
    readonly mean?: readonly number[];
    readonly std?: readonly number[];
  };
  readonly output?: PixelOutput;
}

export type PixelOutput =
  /** The model's output times this is a pixel; rounded and clamped to 0..255. */
  | { readonly scale: number }
  /** The class with the greatest score at each place: [N, C, H, W] becomes [N, 1, H, W]. */
  | { readonly classes: true };
