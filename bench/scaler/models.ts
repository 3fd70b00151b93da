/** What the scaler is measured on, as data: networks, ways to choose the setting, and the loads. */
import type { PixelOptions } from '../../protocol/compileChoices.ts';
import type { Load, ScalerSettings } from '../page/manyRuns.ts';

/** A pixel of 255 is 1. */
const unit = { scale: 255 };

export interface ScalerModel {
  readonly id: string;
  readonly title: string;
  readonly file: string;
  readonly input: { readonly name: string; readonly dims: readonly number[] };
  /** Part of the features that still travel; null for a dense plan. */
  readonly keep: number | null;
  /** Pictures travel as bytes, both ways; else numbers do. */
  readonly pixels: PixelOptions | null;
}

const upscaler = (side: number): ScalerModel => ({
  id: `esrgan-slim-${side}`,
  title: `esrgan-slim at ${side} x ${side}, a twentieth of the exchange`,
  file: 'esrgan-slim-x4.onnx',
  input: { name: 'input', dims: [1, 3, side, side] },
  keep: 0.05,
  pixels: { input: unit, output: unit },
});

export const resnet20: ScalerModel = {
  id: 'resnet20',
  title: 'resnet20 at 32 x 32, dense',
  file: 'resnet20-cifar10.onnx',
  input: { name: 'input', dims: [1, 3, 32, 32] },
  keep: null,
  pixels: null,
};
/** Its rounds are many and small: on a link its devices wait more than they compute or send. */
export const resnet20Sparse: ScalerModel = {
  ...resnet20,
  id: 'resnet20-sparse',
  title: 'resnet20 at 32 x 32, a fiftieth of the exchange',
  keep: 0.02,
};
export const esrgan = upscaler(48);
/** The same network on a quarter of the pixels: the effect of the data. */
export const esrganSmall = upscaler(24);

export interface Way {
  readonly name: string;
  readonly policy: ScalerSettings['policy'];
  /** It looks for its setting first. */
  readonly adapts: boolean;
}

export const alone: Way = { name: '(1, 1)', policy: { fixed: { batch: 1, instances: 1 } }, adapts: false };

export const adaptiveWays: readonly Way[] = [
  { name: 'Clipper', policy: 'clipper', adapts: true },
  { name: 'batching only', policy: 'batching', adapts: true },
  { name: 'tenancy only', policy: 'instances', adapts: true },
  { name: 'joint', policy: 'joint', adapts: true },
];

/** What an exhaustive search tries: every batch with every number of instances. */
const gridBatches = [1, 4, 16];
const gridInstances = [1, 2, 4];

export const grid: readonly Way[] = gridBatches.flatMap((batch) =>
  gridInstances.map((instances) => ({
    name: `(${batch}, ${instances})`,
    policy: { fixed: { batch, instances } },
    adapts: false,
  })),
);

/** The objective is so many times the p95 of (1, 1). */
export const objectiveFactor = 6;
export const maxBatch = 32;
export const maxInstances = 4;

export const loads: readonly Omit<Load, 'ms'>[] = [
  { kind: 'steady', count: 64 },
  { kind: 'burst', count: 48 },
];
